#include "kernels/experts/rank_slots.hpp"
#include <algorithm>
#include <set>
#include <vector>

namespace trainx::kernels {
namespace {

std::int32_t rank_of(const RankChoices& of, std::int32_t expert) {
  return expert < 0 ? -1 : static_cast<std::int32_t>(expert / (of.experts / of.ranks));
}

}  // namespace

void kept_choices_reference(const KeptChoices& op) {
  std::vector<std::int64_t> kept(static_cast<std::size_t>(op.of.ranks));
  for (std::int64_t i = 0; i < op.of.tokens * op.of.per_token; ++i) {
    const std::int32_t expert = op.of.indices[i], rank = rank_of(op.of, expert);
    const bool has_room = rank >= 0 && kept[static_cast<std::size_t>(rank)]++ < op.capacity;
    op.kept[i] = has_room ? expert : -1;
  }
}

void rank_places_reference(const RankPlaces& op) {
  const std::int64_t k = op.of.per_token;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(op.of.ranks));
  std::fill_n(op.places, op.of.tokens * op.most, -1);
  for (std::int64_t n = 0; n < op.of.tokens; ++n) {
    std::set<std::int32_t> ranks;
    for (std::int64_t j = n * k; j < (n + 1) * k; ++j)
      ranks.insert(rank_of(op.of, op.of.indices[j]));
    ranks.erase(-1);
    std::int32_t* place = op.places + n * op.most;
    for (const std::int32_t rank : ranks) {
      const std::int64_t row = rows[static_cast<std::size_t>(rank)]++;
      *place++ = row < op.capacity ? static_cast<std::int32_t>(rank * op.capacity + row) : -1;
    }
  }
}

void rank_slots_reference(const RankSlots& op) {
  const std::int64_t k = op.of.per_token, each = op.of.experts / op.of.ranks;
  if (op.owners) std::fill_n(op.owners, op.of.ranks * op.capacity * k, -1);
  for (std::int64_t p = 0; p < op.of.tokens * op.most; ++p) {
    const std::int64_t n = p / op.most, row = op.places[p];
    for (std::int64_t j = 0; row >= 0 && j < k; ++j) {
      const std::int32_t expert = op.of.indices[n * k + j];
      const bool is_here = rank_of(op.of, expert) == row / op.capacity;
      if (op.owners)
        op.owners[row * k + j] = is_here ? static_cast<std::int32_t>(expert % each) : -1;
      if (op.weights) op.weights[row * k + j] = is_here ? op.token_weights[n * k + j] : 0;
    }
  }
}

void rank_slots_backward_reference(const RankSlotsBackward& op) {
  const std::int64_t k = op.of.per_token;
  for (std::int64_t i = 0; i < op.of.tokens * k; ++i) {
    const std::int32_t rank = rank_of(op.of, op.of.indices[i]);
    op.d_token_weights[i] = 0;
    for (std::int64_t p = i / k * op.most; p < (i / k + 1) * op.most; ++p)
      if (op.places[p] >= 0 && op.places[p] / op.capacity == rank)
        op.d_token_weights[i] = op.d_weights[op.places[p] * k + i % k];
  }
}

}  // namespace trainx::kernels
