// gelu(x) = x * cdf, gelu'(x) = cdf + x * slope.
#pragma once
#include "kernels/bits.hpp"
#include <cuda_runtime_api.h>

namespace trainx::kernels {

struct Cdf {
  float cdf, slope;
};

// As x s with s = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): small values stay exact
// relative to themselves, where 1 + tanh(u) would cancel. Where the exponential overflows s is 0.
template <class T>
struct TanhCdf {
  static __device__ __forceinline__ Cdf of(float x) {
    constexpr float slope_of_u = 2 * 0.7978845608028654f, cubic = 0.044715f,
                    log2_e = 1.4426950408889634f;
    const float square = x * x;
    const float e = power_of_two(x * (-slope_of_u * log2_e - slope_of_u * log2_e * cubic * square)),
                s = reciprocal(1 + e);
    return {s, (s - s * s) * (slope_of_u + 3 * slope_of_u * cubic * square)};
  }

 private:
  static __device__ __forceinline__ float power_of_two(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
  }
  static __device__ __forceinline__ float reciprocal(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
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
