// Where one head of one sample lies in the packed tensors.
#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_dropout.hpp"

namespace trainx::kernels {

constexpr float log2_of_e = 1.44269504f;

/// Arguments that all attention kernels take; 32-bit counts where they cannot be large.
struct AttentionShape {
  long tokens;
  int heads, head_size;
  bool causal;
  float scale;              // of scores
  int key_value_heads = 0;  // this and the rest: of Grouped alone (grouped.cuh)
  int group = 1;            // query heads for each key-value head
  float cap = 0;
  AttentionDropout dropout = {};  // of Dropped alone (dropped.cuh)
  ScoreBiases biases = {};        // of Biased alone (biased.cuh)
  AttentionMemory memory = {};    // of Across alone (across.cuh)
};

/// Where keys and values lie, and their gradients: with queries, or in another text's tensor.
template <class Sight, class T>
__device__ __forceinline__ const T* keys_in(const T* qkv, const AttentionShape& s) {
  if constexpr (Sight::remote)
    return static_cast<const T*>(s.memory.keys);
  else
    return qkv;
}
template <class Sight, class T>
__device__ __forceinline__ T* key_gradients_in(T* d_qkv, const AttentionShape& s) {
  if constexpr (Sight::remote)
    return static_cast<T*>(s.memory.d_keys);
  else
    return d_qkv;
}
/// Keys of a sample.
template <class Sight>
__device__ __forceinline__ long key_count(const AttentionShape& s) {
  return Sight::remote ? s.memory.tokens : s.tokens;
}

/// Of a sample's head of queries, and the head of keys and values that it sees: offsets of their
/// first rows, and the distances of rows.
struct HeadView {
  // elements from one token's row to the next: of queries, of keys and values, of out
  long row, key_row, out_row;
  long query, key, value, out, lse;

  /// `Sight`: who sees whom (lengths.cuh), which knows if heads are grouped.
  template <class Sight>
  __device__ HeadView(const AttentionShape& s, const Sight&, long b, long h) {
    out_row = static_cast<long>(s.heads) * s.head_size;
    const long of_keys = Sight::grouped ? static_cast<long>(s.key_value_heads) * s.head_size
                                        : out_row,
               kv = Sight::grouped ? h / s.group : h;
    row = out_row + (Sight::remote ? 0 : 2 * of_keys);
    key_row = Sight::remote ? 2 * of_keys : row;
    query = b * s.tokens * row + h * s.head_size;
    key = b * key_count<Sight>(s) * key_row + (Sight::remote ? 0 : out_row) + kv * s.head_size;
    value = key + of_keys;
    out = b * s.tokens * out_row + h * s.head_size;
    lse = (b * s.heads + h) * s.tokens;
  }
};

}  // namespace trainx::kernels
