#include "operations/linear/linear_fp8.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/linear/linear_backends.hpp"

namespace trainx::operations {

void fp8_linear(const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight, const Tensor& bias,
                const Tensor& wide) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::fp8_linear(*gpu, y, x, weight, bias);
  return cpu::fp8_linear(y, x, weight, bias, wide);
}

void fp8_linear_backward_input(const Tensor& dx, const Fp8Tensor& dy, const Fp8Tensor& weight,
                               const Tensor& sum, const Tensor& wide) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::fp8_linear_backward_input(*gpu, dx, dy, weight, sum);
  return cpu::fp8_linear_backward_input(dx, dy, weight, sum, wide);
}

void fp8_linear_backward_weight(const Tensor& d_weight, const Fp8Tensor& dy, const Fp8Tensor& x,
                                bool accumulate, const Tensor& wide) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_weight))
      return cuda::fp8_linear_backward_weight(*gpu, d_weight, dy, x, accumulate);
  return cpu::fp8_linear_backward_weight(d_weight, dy, x, accumulate, wide);
}

}  // namespace trainx::operations
