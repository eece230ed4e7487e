#include "kernels/experts/router_loss.hpp"
#include "operations/common/launch.hpp"
#include "operations/router_loss/router_loss_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::RouterLoss kernel_loss(const RouterLoss& l, const Tensor& balance, const Tensor& targets) {
  return {static_cast<int>(l.experts),    factor_of(l),    pointer<float>(balance),
          pointer<std::int32_t>(targets), targets.numel(), static_cast<int>(l.ranks)};
}

}  // namespace

void add_router_loss(const Gpu& gpu, const RouterLoss& l, const Tensor& loss_sum,
                     const Tensor& balance, const Tensor& targets) {
  gpu::require(kernels::router_loss(kernel_loss(l, balance, targets), pointer<double>(loss_sum),
                                    gpu.space.stream),
               "loss of a router");
  gpu.done(Work::loss);
}

void router_loss_backward(const Gpu& gpu, const RouterLoss& l, const Tensor& d_balance,
                          const Tensor& balance, const Tensor& targets, LossSeed seed) {
  gpu::require(
      kernels::router_loss_backward(kernel_loss(l, balance, targets), pointer<float>(d_balance),
                                    seed.factor, seed.scale, gpu.space.stream),
      "loss of a router backward");
  gpu.done(Work::loss);
}

}  // namespace trainx::operations::cuda
