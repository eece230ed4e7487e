#pragma once
#include "kernels/bits.hpp"
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Elements that share a scale.
constexpr std::int64_t quantised_block = 256;

/// The 256 numbers between -1 (0 where unsigned) and 1 that a byte stands for, ascending: the
/// dynamic map of Dettmers et al. 2022 (arXiv:2110.02861), as bitsandbytes' create_dynamic_map
/// makes it: seven powers of ten, each cut evenly, finer the larger it is.
const float* dynamic_map(bool is_signed);

/// Of the two bytes around x, the first of which is the last not above it, the nearer; of two
/// equally near the lower.
TRAINX_HOST_DEVICE std::uint8_t nearer_code(const float* map, int below, float x) {
  return static_cast<std::uint8_t>(
      below < 255 && sum(x, -map[below]) > sum(map[below + 1], -x) ? below + 1 : below);
}

/// The byte whose number in `map` is nearest to x.
TRAINX_HOST_DEVICE std::uint8_t nearest_code(const float* map, float x) {
  int at = 0;  // the last that is not above x
  for (int step = 128; step > 0; step /= 2)
    if (map[at + step] <= x) at += step;
  return nearer_code(map, at, x);
}

/// nearest_code of numbers of one sign, from 0 on, in one look: by their exponent and the `bits`
/// highest bits of their fraction, which leave at most two bytes, and the number from which on it
/// is the second.
template <int bits>
struct MagnitudeCodes {
  // below 2^-23 all are one, and so are those from 1 on
  static constexpr int smallest_exponent = -23, buckets = (-smallest_exponent << bits) + 2,
                       low_bits = 23 - bits;
  // its first byte in the upper eight bits; below them the low bits from which on it is the other
  std::uint32_t words[buckets];

  static TRAINX_HOST_DEVICE int bucket(std::uint32_t magnitude) {
    const int bucket = static_cast<int>(magnitude >> low_bits) -
                       (((127 + smallest_exponent) << bits) - 1);
    return bucket < 0 ? 0 : bucket < buckets ? bucket : buckets - 1;
  }
  /// `step`: what a larger magnitude adds to the byte, 1 or, of negative numbers, -1.
  TRAINX_HOST_DEVICE std::uint8_t nearest(float x, int step) const {
    const std::uint32_t magnitude = bits_of(x) & 0x7fffffff, word = words[bucket(magnitude)],
                        low = magnitude & ((1u << low_bits) - 1);
    return static_cast<std::uint8_t>(static_cast<int>(word >> 24) +
                                     (low >= (word & 0xffffff) ? step : 0));
  }
};

/// Both maps and the way back.
struct DynamicCodes {
  float of_signed[256], of_unsigned[256];
  MagnitudeCodes<6> signed_codes[2];  // of positive and of negative numbers
  MagnitudeCodes<7> unsigned_codes;   // their map is cut finer

  /// nearest_code in of_signed.
  TRAINX_HOST_DEVICE std::uint8_t of(float x) const {
    const int is_negative = static_cast<int>(bits_of(x) >> 31);
    return signed_codes[is_negative].nearest(x, 1 - 2 * is_negative);
  }
  /// nearest_code in of_unsigned; x is not negative.
  TRAINX_HOST_DEVICE std::uint8_t of_square(float x) const { return unsigned_codes.nearest(x, 1); }
};

/// Made once, in the host's memory.
const DynamicCodes& dynamic_codes();

}  // namespace trainx::kernels
