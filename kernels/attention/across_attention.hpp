// Attention of queries of one text to keys and values of another (Vaswani et al. 2017,
// arXiv:1706.03762, section 3.2.3), by the kernels of attention.hpp.
#pragma once
#include "kernels/attention/attention.hpp"
#include <cstdint>

namespace trainx::kernels {

/// q[B, T, H, D] and size.memory.keys[B, M, 2 K, D], keys and then values, to out[B, T, H, D] and
/// lse[B, H, T], for float, Bf16 and Fp16; M = size.memory.tokens, heads as of
/// grouped_attention.hpp. Every query sees its sample's first lengths[b] keys (null: all); of none
/// it gets zeros, lse too. No memory, a window or a soft cap is
/// cudaErrorInvalidValue.
template <class T>
cudaError_t across_attention_forward(const T* q, const std::int32_t* lengths, T* out, float* lse,
                                     const AttentionSize& size, cudaStream_t stream);
/// Writes all of d_q and of size.memory.d_keys. `delta`: B * H * T floats of scratch.
template <class T>
cudaError_t across_attention_backward(const T* q, const std::int32_t* lengths, const T* out,
                                      const float* lse, const T* d_out, T* d_q, float* delta,
                                      const AttentionSize& size, cudaStream_t stream);

/// Same contract on host memory, in double precision inside: the reference for tests. d_q may be
/// null, then d_out is not read.
void across_attention_reference(const float* q, const std::int32_t* lengths, const float* d_out,
                                float* out, float* lse, float* d_q, const AttentionSize& size);

}  // namespace trainx::kernels
