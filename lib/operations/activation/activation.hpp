// Element-wise functions by name, and linear layers with one.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y = f(x), of the same dims; `y` may be `x`.
void activate(Activation f, const Tensor& y, const Tensor& x);
/// dx[N, C] = dy f'(x); `kept`: x, or y of a function that is computed in place. d_bias[C] (f32;
/// undefined: not wanted) = or += the column sums of dx, the gradient of a bias that was added to
/// x. `dx` may be `dy`.
void activate_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                       const Tensor& kept, bool accumulate);

/// preactivation[N, F] = x[N, C] weight[F, C]^T + bias[F], activated[N, F] = f(preactivation).
void linear_activation(Activation f, const Tensor& activated, const Tensor& preactivation,
                       const Tensor& x, const Tensor& weight, const Tensor& bias);
/// Of a linear layer y = f(x) weight^T, weight[C, F]: dx[N, F] = (dy[N, C] weight) f'(x);
/// d_bias[F] (f32) = or += its column sums, the gradient of a bias that was added to x.
void linear_activation_backward(Activation f, const Tensor& dx, const Tensor& d_bias,
                                const Tensor& dy, const Tensor& weight, const Tensor& x,
                                bool accumulate);

}  // namespace trainx::operations
