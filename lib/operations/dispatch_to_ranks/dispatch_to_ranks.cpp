#include "operations/dispatch_to_ranks/dispatch_to_ranks.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks_backends.hpp"

namespace trainx::operations {

void keep_choices(const DispatchToRanks& of, const Tensor& kept, const Tensor& indices) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(kept)) return cuda::keep_choices(*gpu, of, kept, indices);
  return cpu::keep_choices(of, kept, indices);
}

void place_tokens(const DispatchToRanks& of, const Tensor& places, const Tensor& chosen) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(places)) return cuda::place_tokens(*gpu, of, places, chosen);
  return cpu::place_tokens(of, places, chosen);
}

void fill_slots(const DispatchToRanks& of, const SlotChoices& slots, const Tensor& weights,
                const Tensor& chosen, const Tensor& places) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(places))
      return cuda::fill_slots(*gpu, of, slots, weights, chosen, places);
  return cpu::fill_slots(of, slots, weights, chosen, places);
}

void slot_weights_backward(const DispatchToRanks& of, const Tensor& d_weights,
                           const Tensor& d_slot_weights, const Tensor& indices,
                           const Tensor& places) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_weights))
      return cuda::slot_weights_backward(*gpu, of, d_weights, d_slot_weights, indices, places);
  return cpu::slot_weights_backward(of, d_weights, d_slot_weights, indices, places);
}

}  // namespace trainx::operations
