// Dropout of attention's probabilities: each has a factor, which follows from (seed, block, site,
// position of its sample in the endless stream, head, query, key) alone.
#pragma once
#include "kernels/host_device.hpp"
#include "kernels/random/fused_dropout.hpp"
#include "kernels/random/philox.hpp"
#include <cmath>
#include <cstdint>

namespace trainx::kernels {

/// FusedDropout in the kernels' types.
struct AttentionDropout {
  const std::int64_t* positions = nullptr;  // [B]
  std::uint64_t seed = 0;
  std::uint32_t where = 0, threshold = 0;
  float scale = 1;
};
inline AttentionDropout attention_dropout(const FusedDropout& d) {
  return {d.positions, d.key.seed, d.key.block << 8 | d.key.site,
          static_cast<std::uint32_t>(std::ldexp(d.key.probability, 32)),
          static_cast<float>(1 / (1 - d.key.probability))};
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
  const FourWords words = philox(
      {{static_cast<std::uint32_t>(query), d.where, static_cast<std::uint32_t>(head), of_rows}},
      d.seed);
  return {std::uint64_t{words.at[1]} << 32 | words.at[0], static_cast<std::uint64_t>(position)};
}

/// Of keys [4 * quad, 4 * quad + 4).
TRAINX_HOST_DEVICE FourWords dropped_words(const AttentionDropout& d, const DroppedQuery& query,
                                           std::int64_t quad) {
  return philox(
      {{static_cast<std::uint32_t>(quad), d.where, static_cast<std::uint32_t>(query.position),
        static_cast<std::uint32_t>(query.position >> 32)}},
      query.key);
}

/// 0 or 1 / (1 - probability). `words`: of the key's four.
TRAINX_HOST_DEVICE float dropped_factor(const AttentionDropout& d, const FourWords& words,
                                        std::int64_t key) {
  const int of_four = static_cast<int>(key % 4);
  const std::uint32_t low = of_four & 1 ? words.at[1] : words.at[0],
                      high = of_four & 1 ? words.at[3] : words.at[2];
  return (of_four & 2 ? high : low) >= d.threshold ? d.scale : 0.0f;
}

}  // namespace trainx::kernels
