#include "operations/linear/linear_gelu.hpp"
#include "operations/activation/activation.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/linear/linear.hpp"

namespace trainx::operations {

void cpu::linear_gelu(Activation f, const Tensor& activated, const Tensor& preactivation,
                      const Tensor& x, const Tensor& weight, const Tensor& bias) {
  linear(preactivation, x, weight, bias);
  activate(f, activated, preactivation);
}

void cpu::linear_gelu_backward(Activation f, const Tensor& dx, const Tensor& d_bias,
                               const Tensor& dy, const Tensor& weight, const Tensor& x,
                               bool accumulate) {
  linear_backward_input(dx, dy, weight, {});
  activate_backward(f, dx, d_bias, dx, x, accumulate);
}

}  // namespace trainx::operations
