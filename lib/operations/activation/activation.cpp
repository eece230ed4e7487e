#include "operations/activation/activation.hpp"
#include "operations/activation/activation_backends.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/linear/linear.hpp"
#include "operations/linear/linear_gelu.hpp"

namespace trainx::operations {

void activate(Activation f, const Tensor& y, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::activate(*gpu, f, y, x);
  return cpu::activate(f, y, x);
}

void activate_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                       const Tensor& kept, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::activate_backward(*gpu, f, dx, d_bias, dy, kept, accumulate);
  return cpu::activate_backward(f, dx, d_bias, dy, kept, accumulate);
}

void linear_activation(Activation f, const Tensor& activated, const Tensor& preactivation,
                       const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (is_gelu(f) && bias.defined())
    return linear_gelu(f, activated, preactivation, x, weight, bias);
  linear(preactivation, x, weight, bias);
  activate(f, activated, preactivation);
}

void linear_activation_backward(Activation f, const Tensor& dx, const Tensor& d_bias,
                                const Tensor& dy, const Tensor& weight, const Tensor& x,
                                bool accumulate) {
  if (is_gelu(f) && d_bias.defined())
    return linear_gelu_backward(f, dx, d_bias, dy, weight, x, accumulate);
  linear_backward_input(dx, dy, weight);
  activate_backward(f, dx, d_bias, dx, x, accumulate);
}

}  // namespace trainx::operations
