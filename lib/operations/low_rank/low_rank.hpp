// Products of adapters: operands may be columns of wider matrices (Tensor::strides), and results
// are scaled and added to.
#pragma once
#include "tensor/tensor.hpp"
#include <span>

namespace trainx::operations {

/// y[N, out] = scale * x[N, in] w[out, in]^T + sum[N, out], which lies as y does; undefined: 0.
void scaled_linear(const Tensor& y, const Tensor& x, const Tensor& w, double scale,
                   const Tensor& sum = {});
/// dx[N, in] = scale * dy[N, out] w[out, in] + sum[N, in], which may be dx; undefined: 0.
void scaled_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& w, double scale,
                                  const Tensor& sum = {});
/// dw[out, in] (f32) = or += dy[N, out]^T x[N, in]. `cast`: as in linear_backward_weight.
void scaled_linear_backward_weight(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                   bool accumulate, const Tensor& cast);
/// narrow[N, rank] b[width, rank]^T, added to columns [first, first + width).
struct AddedColumns {
  Tensor narrow, b;
  std::int64_t first = 0;
};
/// y[N, out] = x[N, in] weight[out, in]^T + bias[out] + `added`, which do not overlap. `bias` may
/// be undefined. A CPU rounds what is added to, and so do kernels of GPUs that add it apart.
void summed_linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   std::span<const AddedColumns> added);
/// dx[N, in] = dy[N, out] weight + d_narrow[N, ranks] a[ranks, in] + sum[N, in], which may be dx;
/// undefined: 0.
void summed_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                  const Tensor& d_narrow, const Tensor& a, const Tensor& sum = {});
/// to[N, C] = sum[N, C] + x[N, C]; `sum` undefined: x alone. `to` may be `sum`.
void add_rows(const Tensor& to, const Tensor& sum, const Tensor& x);
/// to[N, n] = from[N, n].
void copy_columns(const Tensor& to, const Tensor& from);

}  // namespace trainx::operations
