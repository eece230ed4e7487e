// Where one head of one sample lies in the packed tensors.
#pragma once
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

constexpr float log2_of_e = 1.44269504f;

/// Arguments that all attention kernels take; 32-bit counts where they cannot be large.
struct AttentionShape {
  long tokens;
  int heads, head_size;
  bool causal;
  float scale;  // 1 / sqrt(head_size)
};

/// Of block (tile, head, sample): offsets of the head's first row in qkv (and the distances of its
/// rows), in out and in lse.
struct HeadView {
  long row, out_row;  // elements from one token's row to the next: 3 H D, H D
  long qkv, out, lse;

  __device__ explicit HeadView(const AttentionShape& s) {
    const long b = blockIdx.z, h = blockIdx.y;
    out_row = static_cast<long>(s.heads) * s.head_size;
    row = 3 * out_row;
    qkv = b * s.tokens * row + h * s.head_size;
    out = b * s.tokens * out_row + h * s.head_size;
    lse = (b * s.heads + h) * s.tokens;
  }
};

}  // namespace trainx::kernels
