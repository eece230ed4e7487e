// Products of experts (kernels/experts/grouped_linear.hpp) for Hopper GPUs (compute capability 9.0)
// by warp-group matrix products (wgmma) and the bulk tensor copy engine (TMA).
#pragma once
#include "kernels/experts/grouped_linear.hpp"

namespace trainx::kernels::hopper {

/// On the current device, and of these sizes: `in` and `out` multiples of 8. Pointers are aligned
/// to 16 bytes. The launch functions return cudaErrorNotSupported where it is not.
bool is_supported(const GroupedSizes& sizes);

/// T: Bf16 or Fp16. As the portable ones: asynchronous on `stream`, one launch, repeats are
/// bit-equal. Sums of fp32; a weight gradient that is added to is added to in device memory, where
/// subnormal numbers become zero.
template <class T>
cudaError_t grouped_linear(const GroupedLinear<T>& op, cudaStream_t stream);
template <class T>
cudaError_t grouped_linear_backward_input(const GroupedLinearBackwardInput<T>& op,
                                          cudaStream_t stream);
template <class T>
cudaError_t grouped_linear_backward_weight(const GroupedLinearBackwardWeight<T>& op,
                                           cudaStream_t stream);

/// As of attention (kernels/attention/hopper/hopper_attention.hpp).
cudaError_t watch_grouped_waits(std::uint32_t* mapped_words);

}  // namespace trainx::kernels::hopper
