// Attention backward by kernels that take little shared memory (grouped.cuh).
#pragma once
#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/grouped.cuh"

namespace trainx::kernels {

template <class T, class Sight>
cudaError_t GroupedBackward<T, Sight>::launch(const T* qkv, Sight sight, const T* out,
                                              const float* lse, const T* d_out, T* d_qkv,
                                              float* delta, const AttentionSize& size,
                                              cudaStream_t stream) {
  if (const cudaError_t error = launch_row_deltas(out, d_out, delta, sight, size, stream);
      error != cudaSuccess)
    return error;
  const float* const deltas = delta;
  if (const cudaError_t error =
          launch_grouped<QueryGradient, T>(size, stream, qkv, sight, lse, d_out, d_qkv, deltas);
      error != cudaSuccess)
    return error;
  return launch_grouped<KeyValueGradient, T>(size, stream, qkv, sight, lse, d_out, d_qkv, deltas);
}

}  // namespace trainx::kernels
