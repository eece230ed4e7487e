#pragma once
#include <cstdint>

namespace trainx::operations {

/// Element-wise functions.
enum class Activation : std::uint8_t {
  none,
  // Gaussian error linear units (Hendrycks & Gimpel 2016, arXiv:1606.08415):
  // x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), "gelu_new" of GPT-2
  gelu_tanh,
  gelu_erf,  // x / 2 * (1 + erf(x / sqrt(2))), "gelu" of BERT
  tanh,
  silu,         // x / (1 + exp(-x)) (Elfwing et al. 2017, arXiv:1702.03118)
  relu,         // max(x, 0)
  relu_squared  // So et al. 2021, arXiv:2109.08668
};

/// Does its backward read the result instead of the argument? Then it is computed in place.
constexpr bool is_in_place(Activation a) { return a == Activation::tanh; }

/// Arithmetic of an element, and of its derivative.
constexpr double activation_flops = 12, activation_gradient_flops = 20;

}  // namespace trainx::operations
