// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/low_rank/low_rank.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

/// y += what is added, by kernels of their own.
void add_apart(const Tensor& y, std::span<const AddedColumns> added);

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
void summed_linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& weight,
                   const Tensor& bias, std::span<const AddedColumns> added);
void summed_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                  const Tensor& weight, const Tensor& d_narrow, const Tensor& a,
                                  const Tensor& sum);
void add_rows(const Gpu& gpu, const Tensor& to, const Tensor& sum, const Tensor& x);
void copy_columns(const Gpu& gpu, const Tensor& to, const Tensor& from);
}  // namespace cuda

}  // namespace trainx::operations
