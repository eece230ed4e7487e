#include "operations/activation/activation.hpp"
#include "core/error.hpp"
#include "operations/activation/gelu.hpp"
#include "operations/activation/pointwise.hpp"
#include "operations/activation/tanh.hpp"
#include "operations/linear/linear.hpp"
#include "operations/linear/linear_gelu.hpp"

namespace trainx::operations {

void activate(Activation f, const Tensor& y, const Tensor& x) {
  switch (f) {
    case Activation::gelu_tanh: return gelu(y, x);
    case Activation::gelu_erf: return gelu_erf(y, x);
    case Activation::tanh: return tanh(y, x);
    case Activation::silu:
    case Activation::relu:
    case Activation::relu_squared: return pointwise(f, y, x);
    case Activation::none: break;
  }
  throw InternalError("activate: no function");
}

void activate_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                       const Tensor& kept, bool accumulate) {
  if (!d_bias.defined() || is_pointwise(f))
    return pointwise_backward_with_bias(f, dx, d_bias, dy, kept, accumulate);
  switch (f) {
    case Activation::gelu_tanh: return gelu_backward_with_bias(dx, d_bias, dy, kept, accumulate);
    case Activation::gelu_erf: return gelu_erf_backward_with_bias(dx, d_bias, dy, kept, accumulate);
    case Activation::tanh: return tanh_backward_with_bias(dx, d_bias, dy, kept, accumulate);
    default: break;
  }
  throw InternalError("activate_backward: no function");
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
