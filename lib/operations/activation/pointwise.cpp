#include "operations/activation/pointwise.hpp"
#include "operations/activation/activation_backends.hpp"
#include "operations/common/dispatch.hpp"

namespace trainx::operations {

void pointwise(Activation f, const Tensor& y, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::pointwise(*gpu, f, y, x);
  return cpu::pointwise(f, y, x);
}

void pointwise_backward_with_bias(Activation f, const Tensor& dx, const Tensor& d_bias,
                                  const Tensor& dy, const Tensor& kept, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::pointwise_backward_with_bias(*gpu, f, dx, d_bias, dy, kept, accumulate);
  return cpu::pointwise_backward_with_bias(f, dx, d_bias, dy, kept, accumulate);
}

void pointwise_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& kept) {
  pointwise_backward_with_bias(f, dx, {}, dy, kept, false);
}

}  // namespace trainx::operations
