#include "architectures/library_bytes.hpp"
#include <algorithm>

namespace trainx::architectures {

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t multiprocessors = 160;  // at least as many as a GPU has

std::int64_t up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::int64_t heads_of(const LibraryCalls& c) { return c.hidden_size / c.head_size; }

// Of lib/operations/attention/math_attention.cpp. Backward holds 8 bytes a score at most,
// probabilities and their gradient in fp32, and in 16 bits the gradient before it is widened.
// Beside them copies of operands by head; before, the products of outputs and their gradients in
// fp32.
std::int64_t math_bytes(const LibraryCalls& c) {
  const std::int64_t B = c.micro_batch_size, T = c.length, e = size_of(c.compute);
  const std::int64_t rows = B * T * c.hidden_size, row_values = B * T * heads_of(c),
                     scores = row_values * T;
  const std::int64_t most = std::max((e == 2 ? 10 : 8) * scores + 6 * rows * e,
                                     (e == 2 ? 6 : 4) * scores + rows * (12 + 4 * e));
  return most + T * T * (c.packed ? 1 + B : 1) + 32 * row_values;
}

// Of mha_fwd and mha_bwd, and their variants for packed sequences
// (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, 2.11): where rows are padded,
// each sample and its padding are a sequence. Forward splits keys where there is little else to
// fill the GPU with; a deterministic backward sums the gradients of queries in as many parts as
// fill it.
std::int64_t flash_bytes(const LibraryCalls& c, bool deterministic) {
  const std::int64_t B = c.micro_batch_size, T = c.length, H = heads_of(c), e = size_of(c.compute),
                     rows = B * T * c.hidden_size;
  const std::int64_t head = up(c.head_size, c.head_size <= 128 ? 32 : 64),
                     padded_rows = B * up(T, 128) + 256 * B;
  const std::int64_t blocks = (T + 63) / 64, splits = B * H * blocks < 2 * multiprocessors
                                                          ? (T + (c.head_size <= 64 ? 255 : 63)) /
                                                                (c.head_size <= 64 ? 256 : 64)
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
std::int64_t efficient_bytes(const LibraryCalls& c) {
  const std::int64_t B = c.micro_batch_size, T = c.length, H = heads_of(c), e = size_of(c.compute),
                     rows = B * T * c.hidden_size, sums = B * H * up(T, 32) * 4;
  const std::int64_t bias = B * up(T, 16) * (e + 16), forward = rows * (e + 4) + sums;
  const std::int64_t tiles = B * H * (up(T, 128) * up(c.head_size, 128) * 4 + up(T, 128)) *
                             (e == 2 && c.head_size > 128 ? 3 : 1);
  return bias + std::max(forward, rows * 4 * e + tiles + 2 * sums + (e == 4 ? rows * 4 : 0));
}

}  // namespace

// Measured in linear layers: up to 193 KiB in bf16 and 425 KiB in fp16 where rows are short; with
// AMX up to 858 KiB in bf16, and in fp16 up to 2321 KiB, by layers of 64 to 16384 and vocabularies
// of 50304. With AMX a model narrower than that takes up to 128 bytes for each word of its
// vocabulary, which is not counted.
program::Bytes product_scratchpad_bytes(DType compute, std::int64_t widest) {
  if (compute == DType::f32) return 0;
  constexpr std::int64_t kib = 1024, short_row = 1024;
  if (widest <= short_row) return (compute == DType::f16 ? 512 : 256) * kib;
  return (compute == DType::f16 ? 2560 : 1024) * kib;
}

namespace {

// Of lib/operations/attention/grouped_attention_cpu.cpp, whose backward holds most: for each thread
// the gradients of one head's keys and values, in 16 bits also copies of both, and of a tile of 64
// queries scores, their gradients and five tensors of rows.
std::int64_t own_loop_bytes(const LibraryCalls& c, std::int64_t threads) {
  const std::int64_t rows = c.compute == DType::f32 ? 2 : 4;
  return threads * 4 * (rows * c.length * c.head_size + 64 * (2 * c.length + 5 * c.head_size));
}

}  // namespace

// ATen's attention for CPUs (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, 2.11) allocates its
// results, of which backward's, the gradients of queries, keys and values, are the largest, and
// works on tiles of q x kv scores per thread: in backward two in fp32 and, under 16-bit floats, two
// rounded ones. Products of 16-bit floats are oneDNN's, which repacks blocks of its operands into a
// scratchpad per thread (product_scratchpad_bytes), and inside attention up to 4 bytes per score of
// a tile and 64 KiB (fp16: 273 KiB, as two threads happen to meet). fp32 products allocate nothing,
// nor do the blocks themselves.
program::Bytes library_bytes(const LibraryCalls& calls, std::int64_t threads) {
  if (calls.attention == AttentionKind::math)
    return math_bytes(calls) + (calls.compute == DType::f32 ? 0 : threads * mib) + mib / 16;
  const std::int64_t length = calls.length, D = calls.head_size;
  const std::int64_t q = std::min<std::int64_t>(length >= 768   ? 256
                                                : length >= 192 ? 64
                                                                : 32,
                                                length),
                     kv = std::min<std::int64_t>(512, length);
  const std::int64_t results = 3 * calls.micro_batch_size * length * calls.hidden_size *
                               size_of(calls.compute);
  const std::int64_t tiles = threads * 4 * (2 * q * kv + 2 * q + q * D);
  const std::int64_t own = calls.own_loops ? own_loop_bytes(calls, threads) : 0;
  if (calls.compute == DType::f32) return std::max(results + tiles, own);
  const std::int64_t of_attention = (calls.compute == DType::f16 ? 512 : 128) * 1024;
  return std::max({threads * product_scratchpad_bytes(calls.compute, calls.widest),
                   results + tiles + threads * (2 * 2 * q * kv + 4 * q * kv + of_attention), own});
}

namespace {

std::int64_t score_bytes(const LibraryCalls& c) {  // of a sample
  const std::int64_t padded = (c.length + 63) / 64 * 64;
  return c.hidden_size / c.head_size * padded * padded * 2;
}

}  // namespace

std::int64_t attention_backward_calls(const LibraryCalls& c, bool deterministic) {
  if (!deterministic || c.packed || c.capped_or_dropped || c.compute == DType::f32 ||
      (c.attention != AttentionKind::automatic && c.attention != AttentionKind::cudnn))
    return 1;
  const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{256} << 20) / score_bytes(c));
  return (c.micro_batch_size + most - 1) / most;
}

program::Bytes gpu_library_bytes(const LibraryCalls& c, bool deterministic) {
  const std::int64_t rows = c.micro_batch_size * c.length, heads = c.hidden_size / c.head_size;
  const std::int64_t usual = 64 * mib + rows * (4 * c.hidden_size + 8 * heads + 64);
  // Small tensors, and gaps between those that lie in the workspace.
  if (c.attention == AttentionKind::math)
    return kept_product_bytes + std::max(usual, math_bytes(c) + 4 * mib);
  if (c.attention == AttentionKind::flash)
    return std::max(usual, flash_bytes(c, deterministic) + 4 * mib);
  if (c.attention == AttentionKind::efficient) return std::max(usual, efficient_bytes(c) + 4 * mib);
  if (c.packed || c.capped_or_dropped || c.compute == DType::f32) return usual;
  // cuDNN makes gradients of keys and values for each head of queries before it sums them; that it
  // keeps them in fp32 is the most that they can be
  const std::int64_t by_query_head = c.grouped ? 8 * rows * c.hidden_size : 0;
  if (!deterministic) return usual + by_query_head;
  const std::int64_t calls = attention_backward_calls(c, deterministic),
                     samples = (c.micro_batch_size + calls - 1) / calls;
  return by_query_head +
         std::max(usual, (std::int64_t{2} << 20) +
                             samples * (score_bytes(c) + 8 * heads * (c.length + 63)));
}

}  // namespace trainx::architectures
