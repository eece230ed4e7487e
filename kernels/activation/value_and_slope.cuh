// f(x) and f'(x) on the device. The slope of tanh takes the result instead of x.
#pragma once
#include "kernels/activation/activation_kind.hpp"
#include "kernels/activation/gelu_cdf.cuh"

namespace trainx::kernels {

struct ValueAndSlope {
  float value, slope;
};

/// T: of the elements in memory, which says how exact an erf must be. NaN stays NaN.
template <ActivationKind kind, class T>
__device__ __forceinline__ ValueAndSlope value_and_slope(float x) {
  if constexpr (kind == ActivationKind::silu) {
    // of -|x|, so that the exponential is at most 1 and small values stay exact
    const float e = __expf(-fabsf(x)), inverse = __fdividef(1.0f, 1 + e);
    const float s = x < 0 ? e * inverse : inverse, rest = x < 0 ? inverse : e * inverse;
    return {x * s, s * (1 + x * rest)};
  } else if constexpr (kind == ActivationKind::relu) {
    return {x <= 0 ? 0 : x, x <= 0 ? 0 : x == x ? 1.0f : x};
  } else if constexpr (kind == ActivationKind::relu_squared) {
    const float r = x <= 0 ? 0 : x;
    return {r * r, 2 * r};
  } else if constexpr (kind == ActivationKind::gelu_tanh) {
    const Cdf at = TanhCdf<T>::of(x);
    return {x * at.cdf, at.cdf + x * at.slope};
  } else if constexpr (kind == ActivationKind::tanh) {
    // few elements, a vector for each sample: the accurate tanhf costs nothing that is seen
    return {tanhf(x), 1 - x * x};
  } else {
    const Cdf at = ErfCdf<T>::of(x);
    return {x * at.cdf, at.cdf + x * at.slope};
  }
}

}  // namespace trainx::kernels
