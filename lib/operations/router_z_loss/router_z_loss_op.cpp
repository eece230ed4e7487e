#include "operations/op_context.hpp"
#include "operations/router_z_loss/router_z_loss.hpp"

namespace trainx::operations {

void RouterZLoss::finish_loss(const OpContext& c) const {
  add_router_z_loss(*this, c.whole(c.bound().loss_sum), c.input(ranks > 1 ? all : z),
                    c.input(targets));
}

void RouterZLoss::finish_gradient(const OpContext& c) const {
  if (const Tensor to = c.input_gradient(z); to.defined())
    router_z_loss_backward(*this, to, c.input(targets), c.block().loss_seed(c.bound().loss_scale));
}

}  // namespace trainx::operations
