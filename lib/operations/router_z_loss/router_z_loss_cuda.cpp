#include "kernels/experts/router_loss.hpp"
#include "operations/common/launch.hpp"
#include "operations/router_z_loss/router_z_loss_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::RouterZLoss kernel_loss(const RouterZLoss& l, const Tensor& z, const Tensor& targets) {
  return {factor_of(l), z.as<const float>(), targets.as<const std::int32_t>(), targets.numel(),
          static_cast<int>(l.ranks)};
}

}  // namespace

void add_router_z_loss(const Gpu& gpu, const RouterZLoss& l, const Tensor& loss_sum,
                       const Tensor& z, const Tensor& targets) {
  gpu::require(kernels::router_z_loss(kernel_loss(l, z, targets), pointer<double>(loss_sum),
                                      gpu.space.stream),
               "loss of a router's logits");
  gpu.done(Work::loss);
}

void router_z_loss_backward(const Gpu& gpu, const RouterZLoss& l, const Tensor& d_z,
                            const Tensor& targets, LossSeed seed) {
  gpu::require(kernels::router_z_loss_backward(kernel_loss(l, {}, targets), pointer<float>(d_z),
                                               seed.factor, seed.scale, gpu.space.stream),
               "loss of a router's logits backward");
  gpu.done(Work::loss);
}

}  // namespace trainx::operations::cuda
