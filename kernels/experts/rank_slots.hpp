#pragma once
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Experts that `ranks` ranks share, E / ranks each in their order, and tokens that choose some.
struct RankChoices {
  std::int64_t tokens = 0, per_token = 1;  // N, k; N * k below 2^31
  std::int64_t experts = 0, ranks = 1;     // E, at most most_sorted_experts
  const std::int32_t* indices = nullptr;   // [N, k], below E; below 0: no choice
};

/// kept[N, k]: the index where it is among the first `capacity` choices of its rank's experts, in
/// the order of tokens and of a token's choices, else -1.
struct KeptChoices {
  RankChoices of;
  std::int64_t capacity = 0;
  std::int32_t* kept = nullptr;
};

/// A token has one row in the slot of each rank whose experts it chose. The slot of rank r is rows
/// [r * capacity, (r + 1) * capacity); tokens fill it from its beginning, in their order.
/// places[N, most]: rows of a token, ranks ascending, -1 behind the last one. A token without room
/// in a slot has -1 there.
struct RankPlaces {
  RankChoices of;
  std::int64_t most = 1;      // ranks of a token: min(k, ranks)
  std::int64_t capacity = 0;  // rows of a slot
  std::int32_t* places = nullptr;
};

/// What a rank needs to know of the rows in its slot: owners[row, j] is the token's choice j if
/// that expert is of the slot's rank, as its number in the rank, else -1; weights[row, j] is the
/// weight of such a choice, else 0. Rows without a token have owners of -1 and no weights.
struct RankSlots {
  RankChoices of;
  std::int64_t most = 1, capacity = 0;
  const std::int32_t* places = nullptr;  // [N, most]
  const float* token_weights = nullptr;  // [N, k]; null if `weights` is
  std::int32_t* owners = nullptr;        // [ranks * capacity, k]; null: not wanted
  float* weights = nullptr;              // [ranks * capacity, k]; null: not wanted
};

/// d_token_weights[n, j] = d_weights[row, j] of the token's row in the slot of that choice's rank;
/// 0 if it has none there.
struct RankSlotsBackward {
  RankChoices of;
  std::int64_t most = 1, capacity = 0;
  const std::int32_t* places = nullptr;
  const float* d_weights = nullptr;
  float* d_token_weights = nullptr;
};

void kept_choices_reference(const KeptChoices& op);
void rank_places_reference(const RankPlaces& op);
void rank_slots_reference(const RankSlots& op);
void rank_slots_backward_reference(const RankSlotsBackward& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; the status of the launches, whose sizes do not depend on the indices.
/// `counts`: expert_sort_scratch_bytes(experts), which may hold anything.
cudaError_t kept_choices(const KeptChoices& op, std::int32_t* counts, cudaStream_t stream);
cudaError_t rank_places(const RankPlaces& op, std::int32_t* counts, cudaStream_t stream);
cudaError_t rank_slots(const RankSlots& op, cudaStream_t stream);
cudaError_t rank_slots_backward(const RankSlotsBackward& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
