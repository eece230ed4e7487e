// Causal attention of the last rows of a sample whose earlier keys and values are there already:
// what a decoder asks for. Sums in fp32.
#pragma once
#include "kernels/attention/score_biases.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>
#include "kernels/bits.hpp"

namespace trainx::kernels {

struct CachedAttentionSize {
  std::int64_t past = 0, rows = 0;  // rows of the sample before those that attend; those
  // head_size from 1 to largest_attention_head (attention.hpp)
  std::int64_t heads = 0, head_size = 0;
  // as of AttentionSize (attention.hpp)
  std::int64_t key_value_heads = 0, window = 0;
  double scale = 0, soft_cap = 0;
  ScoreBiases biases = {};  // of past + rows tokens; without a soft cap
};

/// out[rows, H, D] of the queries of rows past, past + 1, ... of qkv[past + rows, H + 2 K, D]; each
/// sees the keys of its own row and of all before it, or the last `window` of them; scores are
/// scaled with 1 / sqrt(D) unless the size says otherwise.
/// Contiguous; aligned to their element. Sums are in one order: repeats give the same bits.
/// Asynchronous on `stream`.
cudaError_t cached_attention(const float* qkv, float* out, const CachedAttentionSize& size,
                             cudaStream_t stream);
cudaError_t cached_attention(const Bf16* qkv, Bf16* out, const CachedAttentionSize& size,
                             cudaStream_t stream);
cudaError_t cached_attention(const Fp16* qkv, Fp16* out, const CachedAttentionSize& size,
                             cudaStream_t stream);

}  // namespace trainx::kernels
