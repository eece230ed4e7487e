#include "ops/gelu.hpp"
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

namespace trainx::ops {

void gelu(const at::Tensor& activated, const at::Tensor& x) {
  at::Tensor out = activated;
  at::gelu_out(out, x, "tanh");
}

void gelu_backward(const at::Tensor& dx, const at::Tensor& d_activated, const at::Tensor& x) {
  at::Tensor out = dx;
  at::gelu_backward_out(out, d_activated, x, "tanh");
}

}  // namespace trainx::ops
