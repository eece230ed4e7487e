// Attention of the kernels of grouped_attention.hpp and nearby_attention.hpp whose scores have
// biases by distance, sinks, or both (score_biases.hpp).
#pragma once
#include "kernels/attention/attention.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Operands and results as of grouped_attention.hpp, for float, Bf16 and Fp16, where size.causal
/// (`seen`: documents' starts, or null), else as of nearby_attention.hpp (`seen`: lengths, or
/// null); size.biases are added to scaled scores. A soft cap is cudaErrorInvalidValue.
template <class T>
cudaError_t biased_attention_forward(const T* qkv, const std::int32_t* seen, T* out, float* lse,
                                     const AttentionSize& size, cudaStream_t stream);
/// Writes all of d_qkv, size.biases.d_buckets where it is not null (heads of at most 128, else
/// cudaErrorInvalidValue), and delta, B * H * T floats that sum_sink_gradients reads. `ends`: as of
/// grouped_attention.hpp.
template <class T>
cudaError_t biased_attention_backward(const T* qkv, const std::int32_t* seen, const T* out,
                                      const float* lse, const T* d_out, T* d_qkv, float* delta,
                                      std::int32_t* ends, const AttentionSize& size,
                                      cudaStream_t stream);

/// Same contract on host memory, in double precision inside: the reference for tests. size.biases
/// hold host pointers but for d_buckets, which is not looked at: d_biases[H, distances] are sums by
/// distance, d_sinks[H]; both may be null.
void biased_attention_reference(const float* qkv, const std::int32_t* seen, const float* d_out,
                                float* out, float* lse, float* d_qkv, float* d_biases,
                                float* d_sinks, const AttentionSize& size);

}  // namespace trainx::kernels
