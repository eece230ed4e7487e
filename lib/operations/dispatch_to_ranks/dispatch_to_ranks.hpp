// Tokens' rows by the ranks of their experts (dispatch_to_ranks_spec.hpp).
#pragma once
#include "operations/dispatch_to_ranks/dispatch_to_ranks_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// kept[N, k]: indices, -1 of those beyond the capacity. UserError 71 for these if nothing may be
/// dropped; a GPU drops.
void keep_choices(const DispatchToRanks& of, const Tensor& kept, const Tensor& indices);
/// places[N, min(k, ranks)] of chosen[N, k]: indices, or what is kept of them. InternalError for an
/// index that is no expert's, where the host sees the indices.
void place_tokens(const DispatchToRanks& of, const Tensor& places, const Tensor& chosen);

/// What goes to the ranks beside rows: [ranks * S, k]. Undefined: not wanted.
struct SlotChoices {
  Tensor weights, owners;
};
void fill_slots(const DispatchToRanks& of, const SlotChoices& slots, const Tensor& weights,
                const Tensor& chosen, const Tensor& places);
/// d_weights[N, k] of d_slot_weights[ranks * S, k]; 0 of tokens without a row at the choice's rank.
void slot_weights_backward(const DispatchToRanks& of, const Tensor& d_weights,
                           const Tensor& d_slot_weights, const Tensor& indices,
                           const Tensor& places);

}  // namespace trainx::operations
