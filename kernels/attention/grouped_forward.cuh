// Attention forward by kernels that take little shared memory (grouped.cuh).
#pragma once
#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/forward.hpp"
#include "kernels/attention/grouped.cuh"

namespace trainx::kernels {

template <class T, class Sight>
cudaError_t GroupedForward<T, Sight>::launch(const T* qkv, Sight sight, T* out, float* lse,
                                             const AttentionSize& size, cudaStream_t stream) {
  return launch_grouped<Forward, T>(size, stream, qkv, sight, out, lse);
}

}  // namespace trainx::kernels
