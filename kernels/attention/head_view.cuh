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
};

/// Of a sample's head of queries, and the head of keys and values that it sees: offsets of their
/// first rows, and the distances of rows.
struct HeadView {
  // elements from one token's row of q, k and v to the next; of out
  long row, out_row;
  long query, key, value, out, lse;

  /// `Sight`: who sees whom (lengths.cuh), which knows if heads are grouped.
  template <class Sight>
  __device__ HeadView(const AttentionShape& s, const Sight&, long b, long h) {
    out_row = static_cast<long>(s.heads) * s.head_size;
    const long of_keys = Sight::grouped ? static_cast<long>(s.key_value_heads) * s.head_size
                                        : out_row,
               kv = Sight::grouped ? h / s.group : h;
    row = out_row + 2 * of_keys;
    const long first = b * s.tokens * row;
    query = first + h * s.head_size;
    key = first + out_row + kv * s.head_size;
    value = key + of_keys;
    out = b * s.tokens * out_row + h * s.head_size;
    lse = (b * s.heads + h) * s.tokens;
  }
};

}  // namespace trainx::kernels
