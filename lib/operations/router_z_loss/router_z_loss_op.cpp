#include "operations/common/targets.hpp"
#include "operations/op_context.hpp"
#include "operations/router_z_loss/router_z_loss_spec.hpp"

namespace trainx::operations {

void RouterZLoss::finish_loss(const OpContext& c) const {
  const double mean = static_cast<double>(*c.input(z).as<const float>()) /
                      static_cast<double>(rows);
  *c.whole(c.bound().loss_sum).as<double>() += count_targets(c.input(targets)) * scale * mean;
}

void RouterZLoss::finish_gradient(const OpContext& c) const {
  const Tensor to = c.input_gradient(z);
  if (!to.defined()) return;
  const LossSeed seed = c.block().loss_seed(c.bound().loss_scale);
  *to.as<float>() = static_cast<float>(count_targets(c.input(targets)) * scale /
                                       static_cast<double>(rows) * seed.factor *
                                       (seed.scale ? *seed.scale : 1));
}

}  // namespace trainx::operations
