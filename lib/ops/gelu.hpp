#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// GELU in its tanh form (Hendrycks & Gimpel 2016, arXiv:1606.08415), "gelu_new" of GPT-2.
void gelu(const at::Tensor& activated, const at::Tensor& x);
/// dx = d_activated * gelu'(x); `dx` may be `d_activated`.
void gelu_backward(const at::Tensor& dx, const at::Tensor& d_activated, const at::Tensor& x);

}  // namespace trainx::ops
