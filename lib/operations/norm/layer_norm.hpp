// LayerNorm (Ba et al. 2016, arXiv:1607.06450) over the last dimension; statistics in fp32.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// mean[N], rstd[N] (f32) of x[N, C]; rstd = 1 / sqrt(variance + epsilon).
void layer_norm_statistics(const Tensor& mean, const Tensor& rstd, const Tensor& x, double epsilon);
/// normed[N, C] = (x - mean) * rstd * weight + bias.
void layer_norm_apply(const Tensor& normed, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                      const Tensor& weight, const Tensor& bias);
/// Both in one, keeping no statistics; `normed` may be `x`.
void layer_norm(const Tensor& normed, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double epsilon);
/// dx[N, C] = d_sum + gradient that d_normed[N, C] brings to x; `dx` may be `d_sum`, which may be
/// undefined (0), or `d_normed`.
void layer_norm_backward(const Tensor& dx, const Tensor& d_sum, const Tensor& d_normed,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight);
/// d_weight[C], d_bias[C] (f32) are overwritten, or added to.
void layer_norm_backward_parameters(const Tensor& d_weight, const Tensor& d_bias,
                                    const Tensor& d_normed, const Tensor& x, const Tensor& mean,
                                    const Tensor& rstd, bool accumulate);

}  // namespace trainx::operations
