#include "execute/cuda/step_needs.hpp"
#include <algorithm>

namespace trainx::execute {

operations::BatchNeeds with_batch(operations::BatchNeeds needs, const data::BatchView& batch,
                                  const program::ModelGraph& graph) {
  const auto row_length = static_cast<std::int32_t>(
      batch.tokens.size() / std::max<std::size_t>(1, batch.positions.size()));
  needs.padded |=
      std::ranges::any_of(batch.lengths, [&](std::int32_t length) { return length < row_length; });
  if (graph.target_chunk == 0) return needs;
  // Whole chunks, at least one: few different numbers, so few graphs, and sums are written where
  // nothing has a target as well.
  const auto rows = static_cast<std::int64_t>(batch.targets.size());
  const std::int64_t found = rows - std::ranges::count(batch.targets, data::no_target);
  const std::int64_t chunks =
      std::max<std::int64_t>(1, (found + graph.target_chunk - 1) / graph.target_chunk);
  needs.target_rows = std::max(needs.target_rows, std::min(rows, chunks * graph.target_chunk));
  return needs;
}

}  // namespace trainx::execute
