#pragma once
#include <cstdint>
#include "core/dtype.hpp"

namespace trainx {

/// Does this build hold kernels of Hopper's own instructions (cmake/Layers.cmake)? Builds without
/// CUDA, which only plan, count on them.
#ifdef TRAINX_WITHOUT_HOPPER_KERNELS
inline constexpr bool has_hopper_kernels = false;
#else
inline constexpr bool has_hopper_kernels = true;
#endif

/// Attention of a text to itself: causal over whole rows, in windows or inside documents, with
/// scores that are scaled and nothing else; or of every token to all of its row, where heads share
/// no keys and scores come as they are. Rows of these may end with padding. Probabilities of both
/// may be dropped.
struct SelfAttention {
  int compute_capability = 0;  // of the GPU, 90: 9.0; 0: not known
  DType compute = DType::bf16;
  std::int64_t tokens = 0, head_size = 0;
  std::int64_t window = 0;  // a token sees itself and window - 1 before it; 0: all
  bool documents = false;   // and nothing before its document
  bool causal = true;       // else windows and documents are left out
  bool dropped = false;
};

/// Do kernels/attention/hopper compute it? They cut heads as 64 or 128 elements. Wherever they do
/// they are faster than cuDNN's (bench/results/h100/hopper_attention.md,
/// bench/results/h200/attention_heads.md).
constexpr bool is_by_hopper(const SelfAttention& a) {
  const std::int64_t shortest_row = a.causal ? 256 : 128;  // shorter ones: not measured
  const bool is_wide = a.head_size > 64;
  // in windows with wide heads cuDNN's are faster, which know of no documents
  const bool wide_window = is_wide && a.window > 0 && a.window < a.tokens;
  return has_hopper_kernels && a.compute_capability == 90 && a.compute == DType::bf16 &&
         a.tokens >= shortest_row && a.head_size % 8 == 0 && a.head_size <= 128 &&
         (!is_wide || (a.causal && !a.dropped && (a.documents || !wide_window)));
}

/// One product of a linear layer of each expert, of rows that are sorted by expert: for results,
/// input gradients or weight gradients.
struct ExpertProduct {
  int compute_capability = 0;  // of the GPU, 90: 9.0; 0: not known
  DType compute = DType::bf16;
  std::int64_t columns = 0;  // of the result
  std::int64_t other = 0;    // summed over, or rows of a weight gradient
};

/// Do kernels/experts/hopper compute it? They do where tensor maps can hold the operands, and where
/// at most a third of the tiles' columns lies outside of the result.
constexpr bool is_by_hopper(const ExpertProduct& p) {
  constexpr std::int64_t elements = 8, tile = 256;
  const std::int64_t outside = (tile - p.columns % tile) % tile;
  return has_hopper_kernels && p.compute_capability == 90 && size_of(p.compute) == 2 &&
         p.columns % elements == 0 && p.other % elements == 0 && 2 * outside <= p.columns;
}

}  // namespace trainx
