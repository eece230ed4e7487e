// LayerNorm (Ba et al. 2016, arXiv:1607.06450) over the last dimension; statistics in fp32.
#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// mean[N], rstd[N] (f32) of x[N, C]; rstd = 1 / sqrt(variance + epsilon).
void layer_norm_statistics(const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& x,
                           double epsilon);
/// normed[N, C] = (x - mean) * rstd * weight + bias.
void layer_norm_apply(const at::Tensor& normed, const at::Tensor& x, const at::Tensor& mean,
                      const at::Tensor& rstd, const at::Tensor& weight, const at::Tensor& bias);
/// Both in one, keeping no statistics; `normed` may be `x`.
void layer_norm(const at::Tensor& normed, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias, double epsilon);
/// dx[N, C] = d_sum + gradient that d_normed[N, C] brings to x; `dx` may be `d_sum`, which may be
/// undefined (0), or `d_normed`.
void layer_norm_backward(const at::Tensor& dx, const at::Tensor& d_sum, const at::Tensor& d_normed,
                         const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd,
                         const at::Tensor& weight);
/// d_weight[C], d_bias[C] (f32) are overwritten, or added to.
void layer_norm_backward_parameters(const at::Tensor& d_weight, const at::Tensor& d_bias,
                                    const at::Tensor& d_normed, const at::Tensor& x,
                                    const at::Tensor& mean, const at::Tensor& rstd,
                                    bool accumulate);

}  // namespace trainx::ops
