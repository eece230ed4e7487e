#include "kernels/experts/dispatch_rows.hpp"
#include "kernels/experts/rank_slots.hpp"
#include "operations/common/launch.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::RankChoices choices_of(const DispatchToRanks& of, const Tensor& chosen) {
  kernels::RankChoices c;
  c.tokens = chosen.size(0);
  c.per_token = chosen.size(1);
  c.experts = of.experts;
  c.ranks = of.ranks;
  c.indices = pointer<std::int32_t>(chosen);
  return c;
}

std::int32_t* counts_of(const Gpu& gpu, const DispatchToRanks& of) {
  if (gpu.space.workspace_bytes < kernels::expert_sort_scratch_bytes(of.ranks))
    throw InternalError("dispatch_to_ranks: the workspace is too small for counts of ranks");
  return static_cast<std::int32_t*>(gpu.space.workspace);
}

}  // namespace

void keep_choices(const Gpu& gpu, const DispatchToRanks& of, const Tensor& kept,
                  const Tensor& indices) {
  kernels::KeptChoices op;
  op.of = choices_of(of, indices);
  op.capacity = of.capacity;
  op.kept = pointer<std::int32_t>(kept);
  gpu::require(kernels::kept_choices(op, counts_of(gpu, of), gpu.space.stream),
               "choices that have room");
  gpu.done(Work::copy);
}

void place_tokens(const Gpu& gpu, const DispatchToRanks& of, const Tensor& places,
                  const Tensor& chosen) {
  kernels::RankPlaces op;
  op.of = choices_of(of, chosen);
  op.most = places.size(1);
  op.capacity = of.slot_rows(op.of.tokens);
  op.places = pointer<std::int32_t>(places);
  gpu::require(kernels::rank_places(op, counts_of(gpu, of), gpu.space.stream),
               "places of tokens by rank");
  gpu.done(Work::copy);
}

void fill_slots(const Gpu& gpu, const DispatchToRanks& of, const SlotChoices& slots,
                const Tensor& weights, const Tensor& chosen, const Tensor& places) {
  kernels::RankSlots op;
  op.of = choices_of(of, chosen);
  op.most = places.size(1);
  op.capacity = of.slot_rows(op.of.tokens);
  op.places = pointer<std::int32_t>(places);
  op.token_weights = pointer<float>(weights);
  op.owners = pointer<std::int32_t>(slots.owners);
  op.weights = pointer<float>(slots.weights);
  gpu::require(kernels::rank_slots(op, gpu.space.stream), "choices by rank");
  gpu.done(Work::copy);
}

void slot_weights_backward(const Gpu& gpu, const DispatchToRanks& of, const Tensor& d_weights,
                           const Tensor& d_slot_weights, const Tensor& indices,
                           const Tensor& places) {
  kernels::RankSlotsBackward op;
  op.of = choices_of(of, indices);
  op.most = places.size(1);
  op.capacity = of.slot_rows(op.of.tokens);
  op.places = pointer<std::int32_t>(places);
  op.d_weights = pointer<float>(d_slot_weights);
  op.d_token_weights = pointer<float>(d_weights);
  gpu::require(kernels::rank_slots_backward(op, gpu.space.stream), "choices by rank backward");
  gpu.done(Work::copy);
}

}  // namespace trainx::operations::cuda
