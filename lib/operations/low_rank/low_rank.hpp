// Products of adapters: operands may be columns of wider matrices (Tensor::strides), and results
// are scaled and added to.
#pragma once
#include "tensor/tensor.hpp"

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
/// to[N, C] = sum[N, C] + x[N, C]; `sum` undefined: x alone. `to` may be `sum`.
void add_rows(const Tensor& to, const Tensor& sum, const Tensor& x);
/// to[N, n] = from[N, n].
void copy_columns(const Tensor& to, const Tensor& from);

}  // namespace trainx::operations
