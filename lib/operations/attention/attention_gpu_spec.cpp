#include "operations/attention/attention_gpu_spec.hpp"
#include "core/cudnn_heads.hpp"
#include "core/hopper_kernels.hpp"
#include <algorithm>

namespace trainx::operations {
namespace {

using program::Bytes;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t multiprocessors = 160;  // at least as many as a GPU has
constexpr std::int64_t most_buckets = 32;      // kernels/attention/score_biases.hpp

std::int64_t up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

bool is_packed(const Attention& a) { return a.mask == AttentionMask::documents; }
std::int64_t rows_of(const Attention& a) { return a.batch * a.length; }
std::int64_t width_of(const Attention& a) { return a.query_heads * a.head_size; }

// Of mha_fwd and mha_bwd, and their variants for packed sequences
// (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, 2.11): where rows are padded,
// each sample and its padding are a sequence. Forward splits keys where there is little else to
// fill the GPU with; a deterministic backward sums the gradients of queries in as many parts as
// fill it.
Bytes flash_bytes(const Attention& a, DType compute, bool deterministic) {
  const std::int64_t B = a.batch, T = a.length, H = a.query_heads, e = size_of(compute),
                     rows = B * T * width_of(a);
  const std::int64_t head = up(a.head_size, a.head_size <= 128 ? 32 : 64),
                     padded_rows = B * up(T, 128) + 256 * B;
  const std::int64_t blocks = (T + 63) / 64, splits = B * H * blocks < 2 * multiprocessors
                                                          ? (T + (a.head_size <= 64 ? 255 : 63)) /
                                                                (a.head_size <= 64 ? 256 : 64)
                                                          : 1;
  const std::int64_t forward = rows * e + B * H * T * 4 +
                               (splits > 1 ? splits * B * H * T * (head + 1) * 4 : 0);
  const std::int64_t parts = deterministic ? (multiprocessors + B * H - 1) / (B * H) : 1;
  return std::max(forward, 3 * rows * e + padded_rows * H * (head * parts + 1) * 4);
}

// Of _efficient_attention_forward and _backward
// (aten/src/ATen/native/transformers/cuda/attention.cu and attention_backward.cu, 2.11): sums of
// query gradients in tiles of up to 128 x 128, with heads above 128 those of keys and values too;
// under padding a bias of a row for each sample and a copy of what comes in.
Bytes efficient_bytes(const Attention& a, DType compute) {
  const std::int64_t B = a.batch, T = a.length, H = a.query_heads, e = size_of(compute),
                     rows = B * T * width_of(a), sums = B * H * up(T, 32) * 4;
  const std::int64_t bias = B * up(T, 16) * (e + 16), forward = rows * (e + 4) + sums;
  const std::int64_t tiles = B * H * (up(T, 128) * up(a.head_size, 128) * 4 + up(T, 128)) *
                             (e == 2 && a.head_size > 128 ? 3 : 1);
  return bias + std::max(forward, rows * 4 * e + tiles + 2 * sums + (e == 4 ? rows * 4 : 0));
}

// Of kernels/attention/hopper: sums of query gradients in fp32, three numbers of each row, or five
// with dropout, and a counter for tiles of 64 queries; which keys these see, and who sees tiles of
// 128 keys.
Bytes hopper_bytes(const Attention& a) {
  constexpr std::int64_t queries = 64, keys = 128;
  const std::int64_t head = a.head_size <= 64 ? 64 : 128, numbers = a.dropout > 0 ? 5 : 3;
  const std::int64_t query_tiles = (a.length + queries - 1) / queries,
                     key_tiles = (a.length + keys - 1) / keys,
                     tiles = a.batch * a.query_heads * query_tiles;
  // of sinks: they, and delta of each row
  const Bytes of_sinks = a.has_sinks ? 4 * (a.query_heads + rows_of(a) * a.query_heads) + 2 * 256
                                     : 0;
  const Bytes own = tiles * (queries * (head + numbers) + 1) * 4 +
                    (1 + a.batch * (query_tiles + key_tiles)) * 4 + of_sinks;
  if (!a.sums_bias) return own;
  // of queries by tile; of keys and values by warp
  const std::int64_t slabs = a.batch * (query_tiles + 2 * key_tiles * (keys / 16));
  constexpr Bytes most_of_fold = mib;  // memory that adds up lies in the same workspace, before
  return up(std::max(own, most_of_fold), 16) + slabs * a.query_heads * a.head_size * 4;
}

Bytes score_bytes(const Attention& a) {  // of a sample
  const std::int64_t padded = up(a.length, 64);
  return a.query_heads * padded * padded * 2;
}

// Of lib/gpu/attention.cpp: biases by distance, their buckets and sinks in fp32, and sums of
// gradients by bucket; each begins at a multiple of 256 bytes.
Bytes bias_bytes(const Attention& a) {
  if (!a.alibi && !a.has_sinks && a.bias.buckets == 0) return 0;
  const std::int64_t distances = 2 * a.length - 1,
                     sums = a.bias.buckets > 0
                                ? a.batch * a.query_heads * up(a.length, 32) * most_buckets / 32
                                : 0;
  return 4 * ((a.query_heads + 1) * distances + a.query_heads + sums) + 6 * 256;
}

// Of lib/gpu/attention.cpp, which widens narrow values: qkv, results, and the gradients of both.
Bytes widened_bytes(const Attention& a, DType compute) {
  if (a.values() == a.head_size) return 0;
  const std::int64_t elements = 2 * rows_of(a) * (2 * a.query_heads + 2 * a.key_value_heads) *
                                a.head_size;
  return elements * size_of(compute) + 4 * 256;
}

}  // namespace

bool is_by_hopper(const Attention& a, DType compute) {
  const bool causal = a.mask != AttentionMask::lengths,
             grouped = a.query_heads != a.key_value_heads || a.scale > 0 || a.window > 0;
  const bool by_distance = a.alibi || a.bias.buckets > 0,
             sinks_fit = !a.has_sinks || (causal && a.dropout == 0);
  return a.kind == AttentionKind::automatic && a.values() <= a.head_size && a.soft_cap == 0 &&
         !by_distance && sinks_fit && a.memory_length == 0 && (causal || !grouped) &&
         trainx::is_by_hopper({a.compute_capability, compute, a.length, a.head_size, a.window,
                               is_packed(a), causal, a.dropout > 0});
}

bool is_by_cudnn(const Attention& a, DType compute) {
  // `model.attention: cudnn` takes the heads that cuDNN computes on every GPU
  const std::int64_t largest_head =
      largest_cudnn_head(a.kind == AttentionKind::automatic ? a.compute_capability : 0);
  return !is_by_hopper(a, compute) &&
         (a.kind == AttentionKind::automatic || a.kind == AttentionKind::cudnn) &&
         size_of(compute) == 2 && a.length > 1 && a.head_size % 8 == 0 &&
         a.head_size <= largest_head && a.values() <= a.head_size && !is_packed(a) &&
         !a.is_trainx_own();
}

std::int64_t gpu_backward_calls(const Attention& a, DType compute, bool deterministic) {
  if (!deterministic || !is_by_cudnn(a, compute)) return 1;
  const std::int64_t most = std::max<std::int64_t>(1, 256 * mib / score_bytes(a));
  return (a.batch + most - 1) / most;
}

Bytes gpu_workspace_bytes(const Attention& a, DType compute, bool deterministic, Bytes beside) {
  const std::int64_t rows = rows_of(a);
  const Bytes widened = widened_bytes(a, compute);
  const Bytes usual = beside + rows * (4 * width_of(a) + 8 * a.query_heads) + bias_bytes(a) +
                      widened;
  // Small tensors, and gaps between those that lie in the workspace.
  constexpr Bytes small = 4 * mib;
  if (a.kind == AttentionKind::math)
    return kept_product_bytes + std::max(usual, math_attention_bytes(a, compute) + small);
  if (a.kind == AttentionKind::flash)
    return std::max(usual, flash_bytes(a, compute, deterministic) + small);
  if (a.kind == AttentionKind::efficient)
    return std::max(usual, efficient_bytes(a, compute) + small);
  if (is_by_hopper(a, compute)) return std::max(usual, beside + widened + hopper_bytes(a));
  if (!is_by_cudnn(a, compute)) return usual;
  // cuDNN makes gradients of keys and values for each head of queries before it sums them; that it
  // keeps them in fp32 is the most that they can be
  const Bytes by_query_head = a.query_heads != a.key_value_heads ? 8 * rows * width_of(a) : 0;
  if (!deterministic) return usual + by_query_head;
  const std::int64_t calls = gpu_backward_calls(a, compute, deterministic),
                     samples = (a.batch + calls - 1) / calls;
  const Bytes of_scores = score_bytes(a) + 8 * a.query_heads * (a.length + 63);
  return by_query_head + std::max(usual, 2 * mib + samples * of_scores + widened);
}

// Backward holds 8 bytes a score at most, probabilities and their gradient in fp32, and in 16 bits
// the gradient before it is widened. Beside them copies of operands by head; before, the products
// of outputs and their gradients in fp32.
Bytes math_attention_bytes(const Attention& a, DType compute) {
  const std::int64_t B = a.batch, T = a.length, e = size_of(compute);
  const std::int64_t rows = B * T * width_of(a), row_values = B * T * a.query_heads,
                     scores = row_values * T;
  const std::int64_t most = std::max((e == 2 ? 10 : 8) * scores + 6 * rows * e,
                                     (e == 2 ? 6 : 4) * scores + rows * (12 + 4 * e));
  return most + T * T * (is_packed(a) ? 1 + B : 1) + 32 * row_values;
}

}  // namespace trainx::operations
