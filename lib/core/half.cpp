#include "core/half.hpp"
#include <bit>
#include <cmath>
#include <limits>

namespace trainx {

float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float widen_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const bool negative = bits & 0x8000;
  float x = 0;
  // subnormal: no hidden bit
  if (exponent == 0)
    x = std::ldexp(static_cast<float>(fraction), -24);
  else if (exponent < 31)
    x = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  else
    x = fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  return std::copysign(x, negative ? -1.0f : 1.0f);
}

std::uint16_t round_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // quiet, so that the upper half alone is no infinity
  if (std::isnan(x)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::uint16_t round_to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 65536 and more
  // below 2^-14: a multiple of 2^-24, which nearbyint rounds half to even
  if (magnitude < 0x38800000) {
    const float units = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(units)));
  }
  // the carry may reach the exponent, up to infinity
  const std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace trainx
