#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// preactivation[N, F] = x[N, C] weight[F, C]^T + bias[F], activated[N, F] = gelu(preactivation),
/// the tanh form.
void linear_gelu(const Tensor& activated, const Tensor& preactivation, const Tensor& x,
                 const Tensor& weight, const Tensor& bias);

/// Of a linear layer y = gelu(x) weight^T, weight[C, F]: dx[N, F] = (dy[N, C] weight) gelu'(x);
/// d_bias[F] (f32) = or += its column sums, the gradient of a bias that was added to x.
void linear_gelu_backward(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                          const Tensor& weight, const Tensor& x, bool accumulate);

}  // namespace trainx::operations
