// Functions of one number with their derivatives, for loops of CPUs.
#pragma once
#include "core/error.hpp"
#include "operations/activation/activation_spec.hpp"
#include "operations/common/element.hpp"
#include <cmath>

namespace trainx::operations {

struct ValueAndSlope {
  float value, slope;
};

/// f(x) and f'(x). Of tanh x is the result.
template <Activation f>
TRAINX_INLINE ValueAndSlope value_and_slope(float x) {
  if constexpr (f == Activation::silu) {
    const float s = 1 / (1 + std::exp(-x));
    return {x * s, s * (1 + x * (1 - s))};
  } else if constexpr (f == Activation::relu) {
    return {x > 0 ? x : x != x ? x : 0, x > 0 ? 1.0f : x != x ? x : 0.0f};
  } else if constexpr (f == Activation::relu_squared) {
    const float r = x > 0 ? x : x != x ? x : 0;
    return {r * r, 2 * r};
  } else if constexpr (f == Activation::gelu_tanh) {
    constexpr float a = 0.7978845608028654f, b = 0.044715f;
    const float t = std::tanh(a * (x + b * x * x * x));
    return {0.5f * x * (1 + t), 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * a * (1 + 3 * b * x * x)};
  } else if constexpr (f == Activation::gelu_erf) {
    const float below = 0.5f * (1 + std::erf(x * 0.7071067811865476f));
    return {x * below, below + x * 0.3989422804014327f * std::exp(-0.5f * x * x)};
  } else {
    return {x, 1 - x * x};
  }
}

/// Calls f.template operator()<a>().
template <class F>
void with_activation(Activation a, F f) {
  switch (a) {
    case Activation::silu: return f.template operator()<Activation::silu>();
    case Activation::relu: return f.template operator()<Activation::relu>();
    case Activation::relu_squared: return f.template operator()<Activation::relu_squared>();
    case Activation::gelu_tanh: return f.template operator()<Activation::gelu_tanh>();
    case Activation::gelu_erf: return f.template operator()<Activation::gelu_erf>();
    case Activation::tanh: return f.template operator()<Activation::tanh>();
    case Activation::none: break;
  }
  throw InternalError("no function to compute");
}

}  // namespace trainx::operations
