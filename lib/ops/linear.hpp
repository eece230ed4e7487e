// Linear layers: y[N, out] = x[N, in] weight[out, in]^T + bias[out].
#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// `bias` may be undefined: none is added.
void linear(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
            const at::Tensor& bias = {});
/// dx[N, in] = dy[N, out] weight, plus `sum`[N, in] where given, which may be `dx`.
void linear_backward_input(const at::Tensor& dx, const at::Tensor& dy, const at::Tensor& weight,
                           const at::Tensor& sum = {});
/// d_weight[out, in] (f32) = or += dy^T x. Operands in bf16 are first cast into `cast` (f32,
/// dy.numel() + x.numel() elements): the CPU has no product of bf16 that leaves its fp32 sums
/// unrounded.
void linear_backward_weight(const at::Tensor& d_weight, const at::Tensor& dy, const at::Tensor& x,
                            bool accumulate, const at::Tensor& cast = {});

}  // namespace trainx::ops
