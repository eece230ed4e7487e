#include "operations/grouped_linear/grouped_linear.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/grouped_linear/grouped_linear_backends.hpp"

namespace trainx::operations {

void grouped_linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& offsets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::grouped_linear(*gpu, y, x, weight, offsets);
  return cpu::grouped_linear(y, x, weight, offsets);
}

void add_expert_bias(const Tensor& y, const Tensor& bias, const Tensor& offsets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::add_expert_bias(*gpu, y, bias, offsets);
  return cpu::add_expert_bias(y, bias, offsets);
}

void grouped_linear_backward_bias(const Tensor& d_bias, const Tensor& dy, const Tensor& offsets,
                                  bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_bias))
      return cuda::grouped_linear_backward_bias(*gpu, d_bias, dy, offsets, accumulate);
  return cpu::grouped_linear_backward_bias(d_bias, dy, offsets, accumulate);
}

void grouped_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                   const Tensor& offsets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::grouped_linear_backward_input(*gpu, dx, dy, weight, offsets);
  return cpu::grouped_linear_backward_input(dx, dy, weight, offsets);
}

void grouped_linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                                    const Tensor& offsets, bool accumulate, const Tensor& cast) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_weight))
      return cuda::grouped_linear_backward_weight(*gpu, d_weight, dy, x, offsets, accumulate, cast);
  return cpu::grouped_linear_backward_weight(d_weight, dy, x, offsets, accumulate, cast);
}

}  // namespace trainx::operations
