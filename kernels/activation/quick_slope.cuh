// f'(x) where arithmetic is what takes time.
#pragma once
#include "kernels/activation/value_and_slope.cuh"
#include <type_traits>

namespace trainx::kernels {

/// f'(x), for bf16 within 1.5e-3 of it: an element of bf16 near 1 is rounded by 2e-3 to 4e-3.
/// GELU's tanh form takes one instruction of the special function unit for a tanh within 2^-11 of
/// itself, where value_and_slope takes two.
template <ActivationKind kind, class T>
__device__ __forceinline__ float quick_slope(float x) {
  if constexpr (kind == ActivationKind::gelu_tanh && std::is_same_v<T, Bf16>) {
    constexpr float slope_of_u = 0.7978845608028654f, cubic = 0.044715f;
    const float square = x * x;
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x * (slope_of_u + slope_of_u * cubic * square)));
    const float slope = x * (slope_of_u / 2 + slope_of_u / 2 * 3 * cubic * square);
    return slope * (1 - t * t) + (0.5f + 0.5f * t);
  } else {
    return value_and_slope<kind, T>(x).slope;
  }
}

}  // namespace trainx::kernels
