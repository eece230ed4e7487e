// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/grouped_linear/grouped_linear.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void grouped_linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& offsets);
void add_expert_bias(const Tensor& y, const Tensor& bias, const Tensor& offsets);
void grouped_linear_backward_bias(const Tensor& d_bias, const Tensor& dy, const Tensor& offsets,
                                  bool accumulate);
void grouped_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                   const Tensor& offsets);
void grouped_linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                                    const Tensor& offsets, bool accumulate, const Tensor& cast);
}  // namespace cpu

namespace cuda {
void grouped_linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& weight,
                    const Tensor& offsets);
void add_expert_bias(const Gpu& gpu, const Tensor& y, const Tensor& bias, const Tensor& offsets);
void grouped_linear_backward_bias(const Gpu& gpu, const Tensor& d_bias, const Tensor& dy,
                                  const Tensor& offsets, bool accumulate);
void grouped_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                   const Tensor& weight, const Tensor& offsets);
void grouped_linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Tensor& dy,
                                    const Tensor& x, const Tensor& offsets, bool accumulate,
                                    const Tensor& cast);
}  // namespace cuda

}  // namespace trainx::operations
