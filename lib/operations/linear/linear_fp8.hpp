// Products of a linear layer whose operands are in fp8: y[N, out] = x[N, in] weight[out, in]^T +
// bias[out].
//
// Values are multiplied and summed in fp32; the product of the two scales multiplies the sum, or
// with scales of vectors and blocks the sum over 128 elements. A CPU widens operands into `wide`
// (f32) first, and results of 16 bits are made there before they are rounded: as many elements as
// the operands and such a result have. A GPU needs no such memory. It multiplies the copies of
// operands that are named at each function, as a CPU does those of vectors; sums of forward with
// scales of tensors alone may be kept less exactly than fp32 (GemmProblem::fast_sums).
//
// x and dy have scales of vectors where the weight has those of blocks.
#pragma once
#include "operations/quantize/quantize.hpp"

namespace trainx::operations {

/// `bias` may be undefined: none is added. On a GPU: x.values, weight.values.
void fp8_linear(const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight, const Tensor& bias,
                const Tensor& wide);
/// dx[N, in] = dy[N, out] weight, plus `sum`[N, in] where given, which may be `dx`. On a GPU:
/// dy.values, weight.transposed.
void fp8_linear_backward_input(const Tensor& dx, const Fp8Tensor& dy, const Fp8Tensor& weight,
                               const Tensor& sum, const Tensor& wide);
/// d_weight[out, in] (f32) = or += dy^T x. On a GPU: dy.transposed, x.transposed.
void fp8_linear_backward_weight(const Tensor& d_weight, const Fp8Tensor& dy, const Fp8Tensor& x,
                                bool accumulate, const Tensor& wide);

}  // namespace trainx::operations
