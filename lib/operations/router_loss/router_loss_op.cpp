#include "operations/op_context.hpp"
#include "operations/router_loss/router_loss.hpp"
#include "operations/router_loss/router_loss_spec.hpp"
#include <algorithm>

namespace trainx::operations {

namespace {

/// Targets of the micro-batch.
double targets_in(const OpContext& c) {
  const Tensor targets = c.input(RouterLoss::targets);
  const auto* const t = targets.as<const std::int32_t>();
  return static_cast<double>(
      std::count_if(t, t + targets.numel(), [](std::int32_t id) { return id >= 0; }));
}

}  // namespace

void RouterLoss::finish_loss(const OpContext& c) const {
  add_router_loss(*this, c.whole(c.bound().loss_sum), c.input(balance), targets_in(c));
}

void RouterLoss::finish_gradient(const OpContext& c) const {
  const LossSeed seed = c.block().loss_seed(c.bound().loss_scale);
  if (const Tensor to = c.input_gradient(balance); to.defined())
    router_loss_backward(*this, to, c.input(balance),
                         targets_in(c) * seed.factor * (seed.scale ? *seed.scale : 1));
}

}  // namespace trainx::operations
