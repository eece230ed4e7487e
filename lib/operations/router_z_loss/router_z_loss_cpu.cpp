#include "kernels/experts/router_loss.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/router_z_loss/router_z_loss_backends.hpp"

namespace trainx::operations {
namespace {

kernels::RouterZLoss reference_loss(const RouterZLoss& l, const Tensor& z, const Tensor& targets) {
  return {factor_of(l), z.as<const float>(), targets.as<const std::int32_t>(), targets.numel(),
          static_cast<int>(l.ranks)};
}

}  // namespace

void cpu::add_router_z_loss(const RouterZLoss& l, const Tensor& loss_sum, const Tensor& z,
                            const Tensor& targets) {
  const TimedWork timed(Work::loss);
  kernels::router_z_loss_reference(reference_loss(l, z, targets), loss_sum.as<double>());
}

void cpu::router_z_loss_backward(const RouterZLoss& l, const Tensor& d_z, const Tensor& targets,
                                 LossSeed seed) {
  const TimedWork timed(Work::loss);
  kernels::router_z_loss_backward_reference(reference_loss(l, {}, targets), d_z.as<float>(),
                                            seed.factor, seed.scale);
}

}  // namespace trainx::operations
