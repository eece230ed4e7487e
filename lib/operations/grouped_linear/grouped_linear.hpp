// A linear layer for each expert (grouped_linear_spec.hpp).
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y[R, out] of x[R, in], offsets[E + 1] and weight[E * out, in].
void grouped_linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& offsets);
/// y[R, out] += bias[E * out] of each row's expert.
void add_expert_bias(const Tensor& y, const Tensor& bias, const Tensor& offsets);
/// d_bias[E * out] (f32) = or += the sums of dy[R, out] over the rows of each expert.
void grouped_linear_backward_bias(const Tensor& d_bias, const Tensor& dy, const Tensor& offsets,
                                  bool accumulate);
/// dx[R, in] = dy[R, out] weight.
void grouped_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                   const Tensor& offsets);
/// d_weight[E * out, in] (f32) = or += dy^T x; that of an expert without rows = or += 0. `cast`:
/// room for some rows of both operands in f32, where they have 16 bits and lie on a host.
void grouped_linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                                    const Tensor& offsets, bool accumulate, const Tensor& cast);

}  // namespace trainx::operations
