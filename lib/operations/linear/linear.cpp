#include "operations/linear/linear.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/linear/linear_backends.hpp"

namespace trainx::operations {

void linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::linear(*gpu, y, x, weight, bias);
  return cpu::linear(y, x, weight, bias);
}

void linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                           const Tensor& sum) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx)) return cuda::linear_backward_input(*gpu, dx, dy, weight, sum);
  return cpu::linear_backward_input(dx, dy, weight, sum);
}

void linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                            bool accumulate, const Tensor& cast) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_weight))
      return cuda::linear_backward_weight(*gpu, d_weight, dy, x, accumulate);
  return cpu::linear_backward_weight(d_weight, dy, x, accumulate, cast);
}

}  // namespace trainx::operations
