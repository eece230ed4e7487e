#pragma once
#include "operations/activation/activation_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

constexpr bool is_gelu(Activation f) {
  return f == Activation::gelu_tanh || f == Activation::gelu_erf;
}

/// preactivation[N, F] = x[N, C] weight[F, C]^T + bias[F], activated[N, F] = f(preactivation); f is
/// a GELU.
void linear_gelu(Activation f, const Tensor& activated, const Tensor& preactivation,
                 const Tensor& x, const Tensor& weight, const Tensor& bias);

/// Of a linear layer y = f(x) weight^T, weight[C, F]: dx[N, F] = (dy[N, C] weight) f'(x);
/// d_bias[F] (f32) = or += its column sums, the gradient of a bias that was added to x.
void linear_gelu_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                          const Tensor& weight, const Tensor& x, bool accumulate);

}  // namespace trainx::operations
