// Stochastic rounding of weights to bf16 (Gupta et al. 2015, arXiv:1502.02551, section 3): up with
// the probability of how far the value lies above the lower neighbour.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/random/philox.hpp"
#include <cstdint>

namespace trainx::kernels {

/// What the random bits of a range hang on, beside its elements and the step: neither addresses nor
/// how the work is cut.
struct RoundingKey {
  std::uint64_t seed = 0;  // of the run
  std::int64_t group = 0;  // of parameters
  std::int64_t first = 0;  // the group's element that the range begins with
};

/// Of the elements 4 quad .. 4 quad + 3 of the group in the step after `applied_steps` updates: a
/// word for each, whose upper half is used.
TRAINX_HOST_DEVICE FourWords rounding_words(const RoundingKey& key, std::int64_t quad,
                                            std::int64_t applied_steps) {
  // other words than dropout's, which has the same seed
  constexpr std::uint64_t purpose = 0x726f756e64696e67;
  const std::uint32_t group = static_cast<std::uint32_t>(key.group) ^
                              static_cast<std::uint32_t>(quad >> 32) << 16;
  return philox(
      {{static_cast<std::uint32_t>(quad), group, static_cast<std::uint32_t>(applied_steps),
        static_cast<std::uint32_t>(applied_steps >> 32)}},
      key.seed ^ purpose);
}

/// Away from zero in (the 16 bits that bf16 lacks) of 65536 words, exactly; beyond the largest bf16
/// lies infinity. A bf16 stays what it is, NaN stays NaN.
TRAINX_HOST_DEVICE Bf16 stochastic_weight(float x, std::uint32_t word) {
  const std::uint32_t bits = bits_of(x);
  return {static_cast<std::uint16_t>(x == x ? (bits + (word >> 16)) >> 16 : bits >> 16 | 0x40)};
}

/// Of element i of the range.
TRAINX_HOST_DEVICE Bf16 stochastic_weight(float x, const RoundingKey& key, std::int64_t i,
                                          std::int64_t applied_steps) {
  const std::int64_t element = key.first + i;
  const FourWords words = rounding_words(key, element / 4, applied_steps);
  const std::uint32_t low = (element & 1) ? words.at[1] : words.at[0],
                      high = (element & 1) ? words.at[3] : words.at[2];
  return stochastic_weight(x, (element & 2) ? high : low);
}

}  // namespace trainx::kernels
