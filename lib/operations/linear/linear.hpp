// Linear layers: y[N, out] = x[N, in] weight[out, in]^T + bias[out].
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// `bias` may be undefined: none is added.
void linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// dx[N, in] = dy[N, out] weight, plus `sum`[N, in] where given, which may be `dx`.
void linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                           const Tensor& sum = {});
/// d_weight[out, in] (f32) = or += dy^T x. Operands in bf16 are first cast into `cast` (f32,
/// dy.numel() + x.numel() elements): the CPU has no product of bf16 that leaves its fp32 sums
/// unrounded.
void linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                            bool accumulate, const Tensor& cast = {});

}  // namespace trainx::operations
