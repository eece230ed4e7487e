#include "operations/linear/linear_gelu.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/linear/linear_backends.hpp"

namespace trainx::operations {

void linear_gelu(Activation f, const Tensor& activated, const Tensor& preactivation,
                 const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(activated))
      return cuda::linear_gelu(*gpu, f, activated, preactivation, x, weight, bias);
  return cpu::linear_gelu(f, activated, preactivation, x, weight, bias);
}

void linear_gelu_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                          const Tensor& weight, const Tensor& x, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::linear_gelu_backward(*gpu, f, dx, d_bias, dy, weight, x, accumulate);
  return cpu::linear_gelu_backward(f, dx, d_bias, dy, weight, x, accumulate);
}

}  // namespace trainx::operations
