// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void scaled_linear(const Tensor& y, const Tensor& x, const Tensor& w, double scale,
                   const Tensor& sum);
void scaled_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& w, double scale,
                                  const Tensor& sum);
void add_rows(const Tensor& to, const Tensor& sum, const Tensor& x);
void copy_columns(const Tensor& to, const Tensor& from);
}  // namespace cpu

namespace cuda {
void scaled_linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& w, double scale,
                   const Tensor& sum);
void scaled_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                  const Tensor& w, double scale, const Tensor& sum);
void scaled_linear_backward_weight(const Gpu& gpu, const Tensor& dw, const Tensor& dy,
                                   const Tensor& x, bool accumulate);
void add_rows(const Gpu& gpu, const Tensor& to, const Tensor& sum, const Tensor& x);
void copy_columns(const Gpu& gpu, const Tensor& to, const Tensor& from);
}  // namespace cuda

}  // namespace trainx::operations
