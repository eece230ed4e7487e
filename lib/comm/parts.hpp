// How data is cut among ranks.
#pragma once
#include <algorithm>
#include <cstdint>

namespace trainx::comm {

/// One rank's part of a piece, in elements from the piece's beginning.
struct ElementPart {
  std::int64_t begin = 0, size = 0;
};

/// Even parts whose borders fall on cache lines (64 bytes); the last ones may be shorter or empty.
constexpr ElementPart part_of(std::int64_t elements, int rank, int ranks,
                              std::int64_t element_bytes) {
  const std::int64_t line = 64 / element_bytes, lines = (elements + line - 1) / line;
  const auto border = [&](int r) { return std::min(elements, (lines * r / ranks) * line); };
  return {border(rank), border(rank + 1) - border(rank)};
}

/// Up to this size each rank sums everything itself: handing parts of it on would take longer.
constexpr std::int64_t whole_bytes = 16 << 10;

}  // namespace trainx::comm
