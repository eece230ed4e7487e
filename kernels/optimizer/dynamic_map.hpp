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

/// Where in a map to begin with a number, by its exponent and the six highest bits of its fraction:
/// finer than the map, but for the smallest. The same bytes as nearest_code finds, in a fraction of
/// the steps.
struct CodeStarts {
  // below 2^-22 all are one, and so are those from 1 on
  static constexpr int smallest_exponent = -22, buckets = 64 * -smallest_exponent + 2;
  std::uint8_t of_positive[buckets], of_negative[buckets];

  static TRAINX_HOST_DEVICE int bucket(float magnitude) {
    const int bucket = static_cast<int>((bits_of(magnitude) & 0x7fffffff) >> 17) -
                       ((127 + smallest_exponent) * 64 - 1);
    return bucket < 0 ? 0 : bucket < buckets ? bucket : buckets - 1;
  }
  /// The share of one byte: every one's, once, makes all.
  TRAINX_HOST_DEVICE void fill(const float* map, int code) {
    const float x = map[code];
    if (x < 0) {
      const int end = code == 0 ? buckets : bucket(-x);
      for (int b = bucket(map[code + 1] < 0 ? -map[code + 1] : 0.0f); b < end; ++b)
        of_negative[b] = static_cast<std::uint8_t>(code);
    } else {
      const int last = code == 255 ? buckets - 1 : bucket(map[code + 1]);
      for (int b = x == 0 ? 0 : bucket(x) + 1; b <= last; ++b)
        of_positive[b] = static_cast<std::uint8_t>(code);
    }
  }
  /// x is not negative where no number of the map is.
  TRAINX_HOST_DEVICE std::uint8_t nearest(const float* map, float x) const {
    int at = x < 0 ? of_negative[bucket(-x)] : of_positive[bucket(x)];
    while (at < 255 && map[at + 1] <= x) ++at;
    return nearer_code(map, at, x);
  }
};

}  // namespace trainx::kernels
