#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// preactivation[N, F] = x[N, C] weight[F, C]^T + bias[F], activated[N, F] = gelu(preactivation),
/// the tanh form.
void linear_gelu(const at::Tensor& activated, const at::Tensor& preactivation, const at::Tensor& x,
                 const at::Tensor& weight, const at::Tensor& bias);

/// Of a linear layer y = gelu(x) weight^T, weight[C, F]: dx[N, F] = (dy[N, C] weight) gelu'(x);
/// d_bias[F] (f32) = or += its column sums, the gradient of a bias that was added to x.
void linear_gelu_backward(const at::Tensor& dx, const at::Tensor& d_bias, const at::Tensor& dy,
                          const at::Tensor& weight, const at::Tensor& x, bool accumulate);

}  // namespace trainx::ops
