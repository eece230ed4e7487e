// Element-wise functions and their derivatives by one loop for all of them: SiLU (Elfwing et al.
// 2017, arXiv:1702.03118), ReLU, its square (So et al. 2021, arXiv:2109.08668), GELUs and tanh.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y = f(x), of the same dims; `y` may be `x`.
void pointwise(Activation f, const Tensor& y, const Tensor& x);
/// dx = dy f'(x); `kept`: x, or y of a function that is computed in place. `dx` may be `dy`.
void pointwise_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& kept);
/// The same, and the gradient of a bias that was added to x: d_bias[C] (f32; undefined: not wanted)
/// = or += the column sums of dx[N, C].
void pointwise_backward_with_bias(Activation f, const Tensor& dx, const Tensor& d_bias,
                                  const Tensor& dy, const Tensor& kept, bool accumulate);

}  // namespace trainx::operations
