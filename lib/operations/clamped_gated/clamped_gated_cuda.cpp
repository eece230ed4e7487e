#include "kernels/activation/clamped_gated.hpp"
#include "operations/clamped_gated/clamped_gated_backends.hpp"
#include "operations/common/launch.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::GateLimits limits_of(const ClampedGated& g) {
  return {static_cast<float>(g.alpha), static_cast<float>(g.limit)};
}

}  // namespace

void clamped_gated(const Gpu& gpu, const ClampedGated& g, const Tensor& y, const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::ClampedGated<T> op{y.numel(), limits_of(g), pointer<T>(x), pointer<T>(y)};
    gpu::require(kernels::clamped_gated(op, gpu.space.stream), "gate with limits");
  });
  gpu.done(Work::activation);
}

void clamped_gated_backward(const Gpu& gpu, const ClampedGated& g, const Tensor& dx,
                            const Tensor& dy, const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::ClampedGatedBackward<T> op{dy.numel(), limits_of(g), pointer<T>(dy),
                                              pointer<T>(x), pointer<T>(dx)};
    gpu::require(kernels::clamped_gated_backward(op, gpu.space.stream),
                 "gate with limits backward");
  });
  gpu.done(Work::activation);
}

}  // namespace trainx::operations::cuda
