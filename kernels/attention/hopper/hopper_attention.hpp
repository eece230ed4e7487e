// Attention for Hopper GPUs (compute capability 9.0) by warp-group matrix products (wgmma) and the
// bulk tensor copy engine (TMA): the algorithms of Dao 2023 (arXiv:2307.08691) with warps that only
// copy and warp groups that only compute, after Shah et al. 2024 (arXiv:2407.08608, section 3).
//
// bf16 in and out, sums in fp32. A row is one token of one head, head_size elements side by side;
// strides are in elements. So a packed [B, T, 3, H, D], a [B, T, H, D] and a [B, H, T, D] are all
// accepted. Pointers are aligned to 16 bytes, strides are multiples of 8.
#pragma once
#include "kernels/attention/attention_dropout.hpp"
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstddef>
#include <cstdint>

namespace trainx::kernels::hopper {

/// Element (b, t, h, d) lies at data[b * batch + t * token + h * head + d].
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t batch = 0, token = 0, head = 0;  // strides
};
using ConstRows = Rows<const Bf16>;
using MutableRows = Rows<Bf16>;

struct Size {
  std::int64_t batch = 0, tokens = 0, heads = 0;
  // a multiple of 8 up to 128: work is that of 64 or 128, whichever is next
  std::int64_t head_size = 0;
  bool causal = false;  // a token sees itself and those before it
  double scale = 0;     // of scores; 0: 1 / sqrt(head_size)
  // K, which divides heads: H / K query heads side by side share a key head; 0: as many as heads
  std::int64_t key_value_heads = 0;
  // causal alone: a token sees itself and window - 1 tokens before it; 0: all
  std::int64_t window = 0;
  bool dropped = false;  // probabilities are, by `dropout` of a pass; with heads up to 64

  std::int64_t of_keys() const { return key_value_heads > 0 ? key_value_heads : heads; }
};

/// Rows of `part` (0: queries, 1: keys, 2: values) of a packed [B, T, H + 2 K, D].
template <class T>
Rows<T> packed_rows(T* qkv, int part, const Size& size) {
  const std::int64_t K = size.of_keys(), row = (size.heads + 2 * K) * size.head_size,
                     first_head = part == 0 ? 0 : size.heads + (part - 1) * K;
  return {qkv + first_head * size.head_size, row * size.tokens, row, size.head_size};
}
/// Rows of a contiguous [B, T, H, D].
template <class T>
Rows<T> plain_rows(T* data, const Size& size) {
  const std::int64_t row = size.heads * size.head_size;
  return {data, row * size.tokens, row, size.head_size};
}

struct Forward {
  ConstRows query, key, value;
  MutableRows out;
  float* lse = nullptr;  // [B, H, T], natural logarithm of the sum of exp(scores)
  // causal alone, [B, T]: where in the row a token's document begins, before which it sees nothing;
  // -1: padding, behind all documents, whose results and gradients are 0. Null: one document
  const std::int32_t* starts = nullptr;
  // not causal alone, [B]: tokens of a sample, 0 to T; behind them lies padding, which nothing sees
  // and whose results and gradients are 0. Null: T
  const std::int32_t* lengths = nullptr;
  // [H]: a score of each head that joins a row's sum of exponentials, without a value. Null: none
  const float* sinks = nullptr;
  AttentionDropout dropout = {};  // where Size::dropped
};

struct Backward {
  ConstRows query, key, value, out, d_out;
  const float* lse = nullptr;  // as forward wrote it, sinks in it
  MutableRows d_query, d_key, d_value;
  // Sums over tokens of these gradients, before they are rounded, by slabs of tokens: fp32
  // [query_slabs(size), H * D] and [key_slabs(size), 2 H * D], keys before values. Null: not
  // wanted. Of whole rows and heads of 64 alone: without `starts`, `lengths`, a window, or heads
  // that share keys
  float *query_sums = nullptr, *key_value_sums = nullptr;
  void* workspace = nullptr;  // workspace_bytes(size), aligned to 128 bytes; contents are free
  const std::int32_t *starts = nullptr, *lengths = nullptr;  // as forward
  float* delta = nullptr;         // [B, H, T]: out . d_out of each row is written. Null: not wanted
  AttentionDropout dropout = {};  // as forward
};

/// Rows of Backward::query_sums and key_value_sums.
std::int64_t query_slabs(const Size& size);
std::int64_t key_slabs(const Size& size);

/// Of this size, on the current device. The launch functions return cudaErrorNotSupported where it
/// is not.
bool is_supported(const Size& size);

/// Both are asynchronous on `stream`, may be captured in a graph, and sum in one fixed order:
/// repeats give the same bits.
cudaError_t attention_forward(const Forward& pass, const Size& size, cudaStream_t stream);
/// fp32 partial sums of the query gradient, row statistics and turn counters.
std::size_t workspace_bytes(const Size& size);
cudaError_t attention_backward(const Backward& pass, const Size& size, cudaStream_t stream);

/// Only in builds with TRAINX_CHECK_WAITS, where a wait that does not end is given up, after which
/// results are wrong: writes what was waited for into these 8 words of mapped host memory, whose
/// first is 0 until then; see turns.cuh. Other builds return cudaErrorNotSupported.
cudaError_t watch_waits(std::uint32_t* mapped_words);

}  // namespace trainx::kernels::hopper
