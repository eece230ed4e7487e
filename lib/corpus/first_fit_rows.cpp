#include "corpus/first_fit_rows.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <bit>
#include <string>

namespace trainx::corpus {

std::vector<std::int64_t> first_fit_rows(std::span<const std::int32_t> lengths,
                                         std::int32_t row_length) {
  // A binary tree over rows, each node with the most room below it; leaves from `leaves` on. There
  // are never more rows than pieces.
  const std::size_t leaves = std::bit_ceil(std::max<std::size_t>(lengths.size(), 1));
  std::vector<std::int32_t> room(2 * leaves, row_length);
  std::vector<std::int64_t> rows;
  rows.reserve(lengths.size());
  for (const std::int32_t length : lengths) {
    if (length < 1 || length > row_length)
      throw InternalError("first_fit_rows: a piece of " + std::to_string(length) +
                          " tokens in rows of " + std::to_string(row_length));
    std::size_t node = 1;
    while (node < leaves) node = room[2 * node] >= length ? 2 * node : 2 * node + 1;
    rows.push_back(static_cast<std::int64_t>(node - leaves));
    room[node] -= length;
    for (node /= 2; node > 0; node /= 2) room[node] = std::max(room[2 * node], room[2 * node + 1]);
  }
  return rows;
}

}  // namespace trainx::corpus
