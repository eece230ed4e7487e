// The Gaussian error linear unit (Hendrycks & Gimpel 2016, arXiv:1606.08415). In every backward
// `dx` may be `d_activated`.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): "gelu_new" of GPT-2.
void gelu(const Tensor& activated, const Tensor& x);
/// dx, and the gradient of a bias that was added to x: d_bias[C] (f32) = or += the column sums of
/// dx[N, C].
void gelu_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                             const Tensor& x, bool accumulate);

/// x / 2 * (1 + erf(x / sqrt(2))): "gelu" of BERT.
void gelu_erf(const Tensor& activated, const Tensor& x);
void gelu_erf_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                                 const Tensor& x, bool accumulate);

}  // namespace trainx::operations
