#pragma once
#include <cstdint>

namespace trainx::kernels {

/// Functions of one number. SiLU: x / (1 + exp(-x)) (Elfwing et al. 2017, arXiv:1702.03118); the
/// square of ReLU: So et al. 2021, arXiv:2109.08668; GELUs: gelu.hpp.
enum class ActivationKind : std::uint8_t { silu, relu, relu_squared, gelu_tanh, gelu_erf };

}  // namespace trainx::kernels
