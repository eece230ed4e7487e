// How rows and tokens are spread over experts in the kernels' tests.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace trainx::kernels {

/// offsets[experts + 1] of so many rows; one expert in four has none, where there are several.
inline std::vector<std::int32_t> spread_offsets(std::int64_t rows, std::int64_t experts,
                                                unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> counts(static_cast<std::size_t>(experts)), offsets{0};
  for (std::int64_t r = 0; r < rows; ++r) {
    auto e = static_cast<std::size_t>(random() % static_cast<std::uint32_t>(experts));
    if (e % 4 == 3) --e;
    ++counts[e];
  }
  for (const std::int32_t c : counts) offsets.push_back(offsets.back() + c);
  return offsets;
}

enum class Spread : std::uint8_t { drawn, one_expert, none_to_first };

/// k different experts of each token.
inline std::vector<std::int32_t> spread_indices(Spread spread, std::int64_t tokens, std::int64_t k,
                                                std::int64_t experts, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> order(static_cast<std::size_t>(experts)), out;
  for (std::int64_t n = 0; n < tokens; ++n) {
    std::iota(order.begin(), order.end(), 0);
    if (spread == Spread::drawn) std::shuffle(order.begin(), order.end(), random);
    if (spread == Spread::none_to_first) std::reverse(order.begin(), order.end());
    out.insert(out.end(), order.begin(), order.begin() + k);
  }
  return out;
}

}  // namespace trainx::kernels
