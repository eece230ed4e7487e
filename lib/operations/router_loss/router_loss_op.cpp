#include "operations/op_context.hpp"
#include "operations/router_loss/router_loss.hpp"
#include "operations/router_loss/router_loss_spec.hpp"

namespace trainx::operations {

Tensor RouterLoss::counted(const OpContext& c) const { return c.input(ranks > 1 ? all : balance); }

void RouterLoss::finish_loss(const OpContext& c) const {
  const Tensor of_all = c.input(targets).view({-1});
  const std::int64_t own = of_all.size(0) / target_ranks;
  add_router_loss(*this, c.whole(c.bound().loss_sum), counted(c),
                  of_all.narrow(0, target_ranks > 1 ? c.row_part() * own : 0, own));
}

void RouterLoss::finish_gradient(const OpContext& c) const {
  if (const Tensor to = c.input_gradient(balance); to.defined())
    router_loss_backward(*this, to, counted(c), c.input(targets),
                         c.block().loss_seed(c.bound().loss_scale));
}

}  // namespace trainx::operations
