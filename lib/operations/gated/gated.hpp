#pragma once
#include "operations/activation/activation_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y[N, F] = f(x[:, :F]) * x[:, F:] of x[N, 2 F].
void gated(Activation f, const Tensor& y, const Tensor& x);
/// dx[N, 2 F] of dy[N, F].
void gated_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& x);

}  // namespace trainx::operations
