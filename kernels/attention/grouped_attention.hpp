// Attention of the kernels of attention.hpp with fewer key-value heads than query heads (Ainslie et
// al. 2023, arXiv:2305.13245), windows, and scores of another scale or under a soft cap (Gemma 2,
// arXiv:2408.00118).
#pragma once
#include "kernels/attention/attention.hpp"
#include <cstdint>

namespace trainx::kernels {

/// qkv[B, T, H + 2 K, D], queries, keys and values in this order, to out[B, T, H, D] and lse[B, H,
/// T]; H = size.heads, K = size.key_value_heads; query heads h H / K to (h + 1) H / K - 1 see keys
/// h. Causal, whatever size.causal. `starts` i32 [B, T] on the device: where in the row a token's
/// document begins, which alone it sees; -1: padding, at the end of a row alone, whose rows get
/// zeros, lse too; null: a row is one document. Sums are in one order: repeats give the same bits.
/// Takes 99 KiB of shared memory at most. Asynchronous on `stream`.
cudaError_t grouped_attention_forward(const float* qkv, const std::int32_t* starts, float* out,
                                      float* lse, const AttentionSize& size, cudaStream_t stream);
cudaError_t grouped_attention_forward(const Bf16* qkv, const std::int32_t* starts, Bf16* out,
                                      float* lse, const AttentionSize& size, cudaStream_t stream);
cudaError_t grouped_attention_forward(const Fp16* qkv, const std::int32_t* starts, Fp16* out,
                                      float* lse, const AttentionSize& size, cudaStream_t stream);

/// Writes all of d_qkv[B, T, H + 2 K, D]; gradients of keys and values are summed over their query
/// heads in fp32. `delta`: B * H * T floats of scratch; `ends`: B * T integers of scratch, unused
/// where starts is null.
cudaError_t grouped_attention_backward(const float* qkv, const std::int32_t* starts,
                                       const float* out, const float* lse, const float* d_out,
                                       float* d_qkv, float* delta, std::int32_t* ends,
                                       const AttentionSize& size, cudaStream_t stream);
cudaError_t grouped_attention_backward(const Bf16* qkv, const std::int32_t* starts, const Bf16* out,
                                       const float* lse, const Bf16* d_out, Bf16* d_qkv,
                                       float* delta, std::int32_t* ends, const AttentionSize& size,
                                       cudaStream_t stream);
cudaError_t grouped_attention_backward(const Fp16* qkv, const std::int32_t* starts, const Fp16* out,
                                       const float* lse, const Fp16* d_out, Fp16* d_qkv,
                                       float* delta, std::int32_t* ends, const AttentionSize& size,
                                       cudaStream_t stream);

/// Same contracts on host memory, in double precision inside: the reference for tests. d_qkv may be
/// null, then d_out is not read.
void grouped_attention_reference(const float* qkv, const std::int32_t* starts, const float* d_out,
                                 float* out, float* lse, float* d_qkv, const AttentionSize& size);

}  // namespace trainx::kernels
