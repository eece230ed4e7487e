// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/dispatch_to_ranks/dispatch_to_ranks.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void keep_choices(const DispatchToRanks& of, const Tensor& kept, const Tensor& indices);
void place_tokens(const DispatchToRanks& of, const Tensor& places, const Tensor& chosen);
void fill_slots(const DispatchToRanks& of, const SlotChoices& slots, const Tensor& weights,
                const Tensor& chosen, const Tensor& places);
void slot_weights_backward(const DispatchToRanks& of, const Tensor& d_weights,
                           const Tensor& d_slot_weights, const Tensor& indices,
                           const Tensor& places);
}  // namespace cpu

namespace cuda {
void keep_choices(const Gpu& gpu, const DispatchToRanks& of, const Tensor& kept,
                  const Tensor& indices);
void place_tokens(const Gpu& gpu, const DispatchToRanks& of, const Tensor& places,
                  const Tensor& chosen);
void fill_slots(const Gpu& gpu, const DispatchToRanks& of, const SlotChoices& slots,
                const Tensor& weights, const Tensor& chosen, const Tensor& places);
void slot_weights_backward(const Gpu& gpu, const DispatchToRanks& of, const Tensor& d_weights,
                           const Tensor& d_slot_weights, const Tensor& indices,
                           const Tensor& places);
}  // namespace cuda

}  // namespace trainx::operations
