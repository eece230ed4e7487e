// The 8-bit floats of training (arXiv:2209.05433), one number at a time.
#pragma once
#include "operations/quantize/quantize_spec.hpp"
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace trainx::operations {

/// The largest finite value.
constexpr float largest(Fp8 format) { return format == Fp8::e4m3 ? 448.0F : 57344.0F; }

namespace fp8 {

constexpr int mantissa_bits(Fp8 format) { return format == Fp8::e4m3 ? 3 : 2; }
constexpr int bias(Fp8 format) { return format == Fp8::e4m3 ? 7 : 15; }
/// 2^exponent, a normal number of fp32.
constexpr float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}
/// The smallest value above zero, below which others are multiples of it.
constexpr float smallest(Fp8 format) {
  return power_of_two(1 - bias(format) - mantissa_bits(format));
}

}  // namespace fp8

/// Bits of the nearest number, ties to even. Beyond the largest value: that value, with x's sign.
/// NaN stays NaN.
template <Fp8 format>
constexpr std::uint8_t rounded_to_fp8(float x) {
  constexpr int dropped = 23 - fp8::mantissa_bits(format);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  float value = std::bit_cast<float>(magnitude);
  if (magnitude > 0x7f800000) return sign | 0x7f;
  if (value > largest(format)) value = largest(format);
  std::uint32_t made = 0;
  if (value < fp8::power_of_two(1 - fp8::bias(format))) {
    // a sum whose last bit is worth `smallest`: the addition rounds
    constexpr float anchor = fp8::smallest(format) * fp8::power_of_two(23);
    made = std::bit_cast<std::uint32_t>(value + anchor) - std::bit_cast<std::uint32_t>(anchor);
  } else {
    const auto v = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t odd = v >> dropped & 1;
    made = ((v + (1U << (dropped - 1)) - 1 + odd) >> dropped) -
           (static_cast<std::uint32_t>(127 - fp8::bias(format)) << fp8::mantissa_bits(format));
  }
  return static_cast<std::uint8_t>(sign | made);
}

/// The number of those bits.
template <Fp8 format>
constexpr float widened_fp8(std::uint8_t bits) {
  constexpr int mantissa = fp8::mantissa_bits(format), exponents = 1 << (7 - mantissa);
  const int exponent = (bits & 0x7f) >> mantissa, rest = bits & ((1 << mantissa) - 1);
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  if (format == Fp8::e4m3 && (bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  if (format == Fp8::e5m2 && exponent == exponents - 1)
    return rest == 0 ? sign * std::numeric_limits<float>::infinity()
                     : std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * static_cast<float>(rest) * fp8::smallest(format);
  return sign * static_cast<float>((1 << mantissa) + rest) *
         fp8::power_of_two(exponent - fp8::bias(format) - mantissa);
}

/// Of all bits.
template <Fp8 format>
constexpr std::array<float, 256> fp8_numbers() {
  std::array<float, 256> all{};
  for (int bits = 0; bits < 256; ++bits)
    all[static_cast<std::size_t>(bits)] = widened_fp8<format>(static_cast<std::uint8_t>(bits));
  return all;
}

}  // namespace trainx::operations
