#pragma once
#include "operations/common/element.hpp"
#include <cstdint>

namespace trainx::operations {

/// exp(x) for x <= 0 in straight-line code that vectorises (Cephes expf: x = n ln 2 + r, |r| <= ln
/// 2 / 2, polynomial of degree 6; 2 ulp). Below -87 the result is 0; NaN stays NaN.
TRAINX_INLINE float exp_non_positive(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  // 1.5 * 2^23: rounds n to nearest and leaves it in the low bits
  const float shifted = clamped * 1.44269504088896341f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = clamped - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // the low bits of `shifted` are n
  const std::uint32_t power = (__builtin_bit_cast(std::uint32_t, shifted) + 127) << 23;
  const float result = p * __builtin_bit_cast(float, power);
  return x < -87.0f ? 0.0f : result;
}

}  // namespace trainx::operations
