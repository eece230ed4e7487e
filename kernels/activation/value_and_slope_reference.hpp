// f(x) and f'(x) in double precision. The slope of tanh takes the result
// instead of x.
#pragma once
#include "kernels/activation/activation_kind.hpp"
#include <cmath>

namespace trainx::kernels {

struct ExactValueAndSlope {
  double value, slope;
};
inline ExactValueAndSlope exact_value_and_slope(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::silu: {
      const double s = 1 / (1 + std::exp(-x)), rest = 1 / (1 + std::exp(x));
      return {x * s, s * (1 + x * rest)};
    }
    case ActivationKind::relu: return {x > 0 || x != x ? x : 0, x > 0 ? 1 : x != x ? x : 0};
    case ActivationKind::relu_squared: {
      const double r = x > 0 || x != x ? x : 0;
      return {r * r, 2 * r};
    }
    case ActivationKind::gelu_tanh: {
      const double a = std::sqrt(2 / M_PI), u = a * (x + 0.044715 * x * x * x),
                   s = 1 / (1 + std::exp(-2 * u)), rest = 1 / (1 + std::exp(2 * u));
      return {x * s, s + x * s * rest * 2 * a * (1 + 3 * 0.044715 * x * x)};
    }
    case ActivationKind::tanh: return {std::tanh(x), 1 - x * x};
    case ActivationKind::gelu_erf: break;
  }
  const double cdf = std::erfc(-x / std::sqrt(2.0)) / 2;
  return {x * cdf, cdf + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI)};
}

}  // namespace trainx::kernels
