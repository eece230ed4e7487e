#include "operations/expert_loads/expert_loads.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void ExpertLoads::finish_loss(const OpContext& c) const {
  const Tensor loads = c.whole(c.bound().loads);
  const bool adds = c.block().accumulates(c.bound().loads);
  for (int layer = 0; layer < c.input_count(); ++layer)
    add_expert_loads(*this, loads.narrow(0, layer, 1).view({-1}), c.input(layer), adds);
}

}  // namespace trainx::operations
