#pragma once
#include <cstdint>

namespace trainx::operations {

/// Element-wise functions; formulas and sources: kernels/activation/activation_kind.hpp.
enum class Activation : std::uint8_t { none, gelu_tanh, gelu_erf, tanh, silu, relu, relu_squared };

/// Does its backward read the result instead of the argument? Then it is computed in place.
constexpr bool is_in_place(Activation a) { return a == Activation::tanh; }

/// Arithmetic of an element, and of its derivative.
constexpr double activation_flops = 12, activation_gradient_flops = 20;

}  // namespace trainx::operations
