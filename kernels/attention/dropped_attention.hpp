// Attention whose probabilities are dropped (size.dropout): the contracts of attention.hpp and
// grouped_attention.hpp, whose functions come here.
#pragma once
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

template <class T>
cudaError_t dropped_attention_forward(const T* qkv, const std::int32_t* lengths, T* out, float* lse,
                                      const AttentionSize& size, cudaStream_t stream);
template <class T>
cudaError_t dropped_attention_backward(const T* qkv, const std::int32_t* lengths, const T* out,
                                       const float* lse, const T* d_out, T* d_qkv, float* delta,
                                       const AttentionSize& size, cudaStream_t stream);
template <class T>
cudaError_t dropped_grouped_forward(const T* qkv, const std::int32_t* starts, T* out, float* lse,
                                    const AttentionSize& size, cudaStream_t stream);
template <class T>
cudaError_t dropped_grouped_backward(const T* qkv, const std::int32_t* starts, const T* out,
                                     const float* lse, const T* d_out, T* d_qkv, float* delta,
                                     std::int32_t* ends, const AttentionSize& size,
                                     cudaStream_t stream);

}  // namespace trainx::kernels
