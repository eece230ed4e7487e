#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// y = tanh(x); `y` may be `x`.
void tanh(const at::Tensor& y, const at::Tensor& x);
/// dx = dy (1 - y^2) of y = tanh(x); `dx` may be `dy`.
void tanh_backward(const at::Tensor& dx, const at::Tensor& dy, const at::Tensor& y);
/// The same, and the gradient of a bias that was added to x: d_bias[C] (f32) = or += the column
/// sums of dx[N, C].
void tanh_backward_with_bias(const at::Tensor& dx, const at::Tensor& d_bias, const at::Tensor& dy,
                             const at::Tensor& y, bool accumulate);

}  // namespace trainx::ops
