// Self-attention on packed queries, keys and values (Dao et al. 2022, arXiv:2205.14135: scores
// never exist as a whole), for the types and head sizes that libraries leave out. Summed in fp32:
// of floats with the accuracy of fp32 unless tf32 is asked for, of 16 bits with probabilities and
// gradients of scores rounded to 16 bits where they enter a product. qkv[B, T, 3, H, D] to out[B,
// T, H, D] and lse[B, H, T] (f32, natural logarithm of the sum of exp(scores)); scores are scaled
// with 1 / sqrt(D). d_qkv[B, T, 3, H, D] of d_out[B, T, H, D]. Contiguous; aligned to their
// element.
#pragma once
#include "kernels/cuda_types.hpp"
#include "kernels/attention/score_biases.hpp"
#include "kernels/random/fused_dropout.hpp"
#include <cstdint>
#include "kernels/bits.hpp"

namespace trainx::kernels {

inline constexpr std::int64_t largest_attention_head = 256;

/// Keys and values of another text than queries, [B, tokens, 2, K, D] on the device, and their
/// gradients, which backward writes.
struct AttentionMemory {
  std::int64_t tokens = 0;
  const void* keys = nullptr;
  void* d_keys = nullptr;
};

struct AttentionSize {
  // head_size from 1 to largest_attention_head
  std::int64_t batch = 0, tokens = 0, heads = 0, head_size = 0;
  // a token sees itself and those before it
  bool causal = false;
  // fp32 elements are rounded to tf32 in products
  bool tf32 = false;
  // the rest, but for the dropout: of grouped_attention.hpp and its like alone
  std::int64_t key_value_heads = 0;  // divides heads; 0: heads
  // a query sees keys at a distance below it, before it or on both sides; 0: all of them
  std::int64_t window = 0;
  double scale = 0;     // of scores; 0: 1 / sqrt(head_size)
  double soft_cap = 0;  // scores become cap * tanh(score / cap); 0: they stay
  // of probabilities, keyed by sample, head, query and key (attention_dropout.hpp); its length and
  // first_row are not looked at
  FusedDropout dropout = {};
  ScoreBiases biases = {};      // of biased_attention.hpp alone
  AttentionMemory memory = {};  // of across_attention.hpp alone
};

/// `lengths` i32 [B] on the device, from 0 to T, or null for T each: a token sees the first
/// lengths[b] tokens of its sample; rows past a length get zeros, lse too. Sums are in one order:
/// repeats give the same bits. Asynchronous on `stream`.
cudaError_t attention_forward(const float* qkv, const std::int32_t* lengths, float* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream);
cudaError_t attention_forward(const Bf16* qkv, const std::int32_t* lengths, Bf16* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream);
cudaError_t attention_forward(const Fp16* qkv, const std::int32_t* lengths, Fp16* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream);

/// Writes all of d_qkv. `delta`: B * H * T floats of scratch.
cudaError_t attention_backward(const float* qkv, const std::int32_t* lengths, const float* out,
                               const float* lse, const float* d_out, float* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream);
cudaError_t attention_backward(const Bf16* qkv, const std::int32_t* lengths, const Bf16* out,
                               const float* lse, const Bf16* d_out, Bf16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream);
cudaError_t attention_backward(const Fp16* qkv, const std::int32_t* lengths, const Fp16* out,
                               const float* lse, const Fp16* d_out, Fp16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream);

/// Zeros the rows past lengths[b] of rows[B, T, width] of 2-byte elements.
cudaError_t zero_padding(std::uint16_t* rows, const std::int32_t* lengths, std::int64_t batch,
                         std::int64_t tokens, std::int64_t width, cudaStream_t stream);

/// Same contracts on host memory, in double precision inside: the reference for tests. d_qkv may be
/// null, then d_out is not read.
void attention_reference(const float* qkv, const std::int32_t* lengths, const float* d_out,
                         float* out, float* lse, float* d_qkv, const AttentionSize& size);

}  // namespace trainx::kernels
