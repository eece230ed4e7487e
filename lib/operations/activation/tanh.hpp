#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y = tanh(x); `y` may be `x`.
void tanh(const Tensor& y, const Tensor& x);
/// dx = dy (1 - y^2) of y = tanh(x), and the gradient of a bias that was added to x: d_bias[C]
/// (f32) = or += the column sums of dx[N, C]. `dx` may be `dy`.
void tanh_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                             const Tensor& y, bool accumulate);

}  // namespace trainx::operations
