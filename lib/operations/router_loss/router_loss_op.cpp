#include "operations/op_context.hpp"
#include "operations/router_loss/router_loss.hpp"
#include "operations/router_loss/router_loss_spec.hpp"

namespace trainx::operations {

void RouterLoss::finish_loss(const OpContext& c) const {
  add_router_loss(*this, c.whole(c.bound().loss_sum), c.input(balance), c.input(targets));
}

void RouterLoss::finish_gradient(const OpContext& c) const {
  if (const Tensor to = c.input_gradient(balance); to.defined())
    router_loss_backward(*this, to, c.input(balance), c.input(targets),
                         c.block().loss_seed(c.bound().loss_scale));
}

}  // namespace trainx::operations
