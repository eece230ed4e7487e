#pragma once
#include <cstdint>

namespace trainx::kernels {

/// Functions of one number.
enum class ActivationKind : std::uint8_t {
  silu,          // x / (1 + exp(-x)) (Elfwing et al. 2017, arXiv:1702.03118)
  relu,          // max(x, 0)
  relu_squared,  // So et al. 2021, arXiv:2109.08668
  // Gaussian error linear units (Hendrycks & Gimpel 2016, arXiv:1606.08415):
  // x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), "gelu_new" of GPT-2
  gelu_tanh,
  gelu_erf,  // x / 2 * (1 + erf(x / sqrt(2))), "gelu" of BERT
  tanh,
};

}  // namespace trainx::kernels
