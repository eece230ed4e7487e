#include "ops/linear_gelu.hpp"
#include "ops/gelu.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/linear.hpp"
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

void linear_gelu(const at::Tensor& activated, const at::Tensor& preactivation, const at::Tensor& x,
                 const at::Tensor& weight, const at::Tensor& bias) {
  TRAINX_ON_GPU(linear_gelu(*gpu, activated, preactivation, x, weight, bias));
  linear(preactivation, x, weight, bias);
  gelu(activated, preactivation);
}

void linear_gelu_backward(const at::Tensor& dx, const at::Tensor& d_bias, const at::Tensor& dy,
                          const at::Tensor& weight, const at::Tensor& x, bool accumulate) {
  TRAINX_ON_GPU(linear_gelu_backward(*gpu, dx, d_bias, dy, weight, x, accumulate));
  linear_backward_input(dx, dy, weight);
  gelu_backward_with_bias(dx, d_bias, dx, x, accumulate);
}

}  // namespace trainx::ops
