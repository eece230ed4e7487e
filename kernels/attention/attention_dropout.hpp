// Dropout of attention's probabilities: each has a factor, which follows from (seed, block, site,
// position of its sample in the endless stream, head, query, key) alone.
#pragma once
#include "kernels/host_device.hpp"
#include "kernels/random/fused_dropout.hpp"
#include "kernels/random/philox.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace trainx::kernels {

/// FusedDropout in the kernels' types. The probability is rounded to 65536ths, and the scale is
/// that of the rounded one: a result's mean stays.
struct AttentionDropout {
  const std::int64_t* positions = nullptr;  // [B]
  std::uint64_t seed = 0;
  std::uint32_t where = 0, threshold = 0;  // threshold: 65536 * probability
  float scale = 1;                         // 1 / (1 - probability)
  std::int64_t first_head = 0;
};
inline AttentionDropout attention_dropout(const FusedDropout& d) {
  constexpr double all = 65536;
  const double threshold = std::min(std::round(d.key.probability * all), all - 1);
  return {d.positions,
          d.key.seed,
          d.key.block << 8 | d.key.site,
          static_cast<std::uint32_t>(threshold),
          static_cast<float>(all / (all - threshold)),
          d.first_head};
}

/// What the factors of a query of a head have in common.
struct DroppedQuery {
  std::uint64_t key, position;
};

/// A key of its own for each query and head: their number is not bounded, that of a sample's
/// elements is. The last word of the counter is no position's.
TRAINX_HOST_DEVICE DroppedQuery dropped_query(const AttentionDropout& d, std::int64_t position,
                                              std::int64_t head, std::int64_t query) {
  constexpr std::uint32_t of_rows = 0x80000000;
  const FourWords words = philox({{static_cast<std::uint32_t>(query), d.where,
                                   static_cast<std::uint32_t>(d.first_head + head), of_rows}},
                                 d.seed);
  return {std::uint64_t{words.at[1]} << 32 | words.at[0], static_cast<std::uint64_t>(position)};
}

/// Of keys [8 * octet, 8 * octet + 8): 16 bits each, two keys a word.
TRAINX_HOST_DEVICE FourWords dropped_words(const AttentionDropout& d, const DroppedQuery& query,
                                           std::int64_t octet) {
  return philox<7>(
      {{static_cast<std::uint32_t>(octet), d.where, static_cast<std::uint32_t>(query.position),
        static_cast<std::uint32_t>(query.position >> 32)}},
      query.key);
}

/// Of a word's two keys.
TRAINX_HOST_DEVICE bool is_first_kept(const AttentionDropout& d, std::uint32_t word) {
  return (word & 0xffff) >= d.threshold;
}
TRAINX_HOST_DEVICE bool is_second_kept(const AttentionDropout& d, std::uint32_t word) {
  return word >> 16 >= d.threshold;
}

/// 0 or 1 / (1 - probability). `words`: of the key's eight.
TRAINX_HOST_DEVICE float dropped_factor(const AttentionDropout& d, const FourWords& words,
                                        std::int64_t key) {
  const std::uint32_t early = key & 2 ? words.at[1] : words.at[0],
                      late = key & 2 ? words.at[3] : words.at[2], word = key & 4 ? late : early;
  return (key & 1 ? is_second_kept(d, word) : is_first_kept(d, word)) ? d.scale : 0.0f;
}

}  // namespace trainx::kernels
