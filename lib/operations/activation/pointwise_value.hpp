// Functions of one number with their derivatives, in straight-line code that vectorises.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/common/element.hpp"
#include "operations/common/exp.hpp"

namespace trainx::operations {

struct ValueAndSlope {
  float value, slope;
};

/// 1 / (1 + exp(-x)) and its derivative by x, with one exponential, of -|x|.
struct Sigmoid {
  float s, slope;
};
TRAINX_INLINE Sigmoid sigmoid_at(float x) {
  const float e = exp_non_positive(x < 0 ? x : -x), inverse = 1 / (1 + e);
  return {x < 0 ? e * inverse : inverse, e * inverse * inverse};
}

/// The normal distribution's P(X <= x) and density at x, with one exponential. erfc(z) = t (a1 +
/// ... + a5 t^4) exp(-z^2), t = 1 / (1 + p z), z >= 0, within 1.5e-7 (Abramowitz & Stegun
/// 1964, 7.1.26).
struct Normal {
  float below, density;
};
TRAINX_INLINE Normal normal_at(float x) {
  constexpr float inverse_sqrt_2 = 0.7071067811865476f, inverse_sqrt_2_pi = 0.3989422804014327f;
  const float z = (x < 0 ? -x : x) * inverse_sqrt_2;
  const float e = exp_non_positive(-z * z);
  const float t = 1 / (1 + 0.3275911f * z);
  const float polynomial =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float half_complement = 0.5f * polynomial * e;
  return {x < 0 ? half_complement : 1 - half_complement, inverse_sqrt_2_pi * e};
}

/// f(x) and f'(x). Of tanh x is the result.
template <Activation f>
TRAINX_INLINE ValueAndSlope value_and_slope(float x) {
  if constexpr (f == Activation::silu) {
    const Sigmoid at = sigmoid_at(x);
    return {x * at.s, at.s + x * at.slope};
  } else if constexpr (f == Activation::relu) {
    return {x > 0 ? x : x != x ? x : 0, x > 0 ? 1.0f : x != x ? x : 0.0f};
  } else if constexpr (f == Activation::relu_squared) {
    const float r = x > 0 ? x : x != x ? x : 0;
    return {r * r, 2 * r};
  } else if constexpr (f == Activation::gelu_tanh) {
    // x / 2 * (1 + tanh(u)) = x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
    constexpr float sqrt_2_over_pi = 0.7978845608028654f, cubic = 0.044715f;
    const float u = sqrt_2_over_pi * (x + cubic * x * x * x);
    const Sigmoid at = sigmoid_at(2 * u);
    const float du = sqrt_2_over_pi * (1 + 3 * cubic * x * x);
    return {x * at.s, at.s + x * at.slope * 2 * du};
  } else if constexpr (f == Activation::gelu_erf) {
    const Normal at = normal_at(x);
    return {x * at.below, at.below + x * at.density};
  } else {
    return {x, 1 - x * x};
  }
}

/// Calls f.template operator()<a>(), inlined, so that it is compiled for the caller's instruction
/// set.
template <class F>
TRAINX_INLINE void with_activation(Activation a, F f) {
  switch (a) {
    case Activation::silu: return f.template operator()<Activation::silu>();
    case Activation::relu: return f.template operator()<Activation::relu>();
    case Activation::relu_squared: return f.template operator()<Activation::relu_squared>();
    case Activation::gelu_tanh: return f.template operator()<Activation::gelu_tanh>();
    case Activation::gelu_erf: return f.template operator()<Activation::gelu_erf>();
    case Activation::tanh: return f.template operator()<Activation::tanh>();
    case Activation::none: return;  // require_function has refused it
  }
}

}  // namespace trainx::operations
