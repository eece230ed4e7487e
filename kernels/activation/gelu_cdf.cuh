// gelu(x) = x * cdf, gelu'(x) = cdf + x * slope.
#pragma once
#include "kernels/bits.hpp"
#include <cuda_runtime_api.h>

namespace trainx::kernels {

struct Cdf {
  float cdf, slope;
};

// As x s with s = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): small values stay exact
// relative to themselves, where 1 + tanh(u) would cancel.
template <class T>
struct TanhCdf {
  static __device__ __forceinline__ Cdf of(float x) {
    constexpr float slope_of_u = 2 * 0.7978845608028654f, cubic = 0.044715f;
    const float square = x * x, u2 = slope_of_u * x * (1 + cubic * square);  // 2 u
    const float e = __expf(-fabsf(u2)), inverse = __fdividef(1.0f, 1 + e);
    return {u2 < 0 ? e * inverse : inverse,
            e * inverse * inverse * slope_of_u * (1 + 3 * cubic * square)};
  }
};

template <class T>
struct ErfCdf;
template <>
struct ErfCdf<float> {
  static __device__ __forceinline__ Cdf of(float x) {
    return {0.5f * erfcf(x * -0.7071067811865476f), 0.3989422804014327f * __expf(-0.5f * x * x)};
  }
};
// Abramowitz & Stegun 7.1.26: erfc(z) = t (a1 + t (a2 + ...)) exp(-z^2), within 1.5e-7; the density
// has the same exponential.
struct ShortErfCdf {
  static __device__ __forceinline__ Cdf of(float x) {
    const float e = __expf(-0.5f * x * x),
                t = __fdividef(1.0f, 1 + 0.3275911f * 0.7071067811865476f * fabsf(x));
    const float p =
        t * (0.254829592f +
             t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    const float below = 0.5f * p * e;  // of -|x|
    return {x < 0 ? below : 1 - below, 0.3989422804014327f * e};
  }
};
template <>
struct ErfCdf<Bf16> : ShortErfCdf {};
template <>
struct ErfCdf<Fp16> : ShortErfCdf {};

}  // namespace trainx::kernels
