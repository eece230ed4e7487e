#include "architectures/library_bytes.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include <algorithm>

namespace trainx::architectures {

using operations::Attention;
using program::Bytes;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

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
Bytes own_loop_bytes(const Attention& a, DType compute, std::int64_t threads) {
  const std::int64_t rows = compute == DType::f32 ? 2 : 4,
                     length = std::max(a.length, a.memory_length);
  return threads * 4 * (rows * length * a.head_size + 64 * (2 * length + 5 * a.head_size));
}

// ATen's attention for CPUs (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, 2.11) allocates its
// results, of which backward's, the gradients of queries, keys and values, are the largest, and
// works on tiles of q x kv scores per thread: in backward two in fp32 and, under 16-bit floats, two
// rounded ones. Products of 16-bit floats are oneDNN's, which repacks blocks of its operands into a
// scratchpad per thread (product_scratchpad_bytes), and inside attention up to 4 bytes per score of
// a tile and 64 KiB (fp16: 273 KiB, as two threads happen to meet). fp32 products allocate nothing,
// nor do the blocks themselves.
Bytes attention_bytes(const Attention& a, DType compute, std::int64_t threads) {
  if (a.kind == AttentionKind::math)
    return operations::math_attention_bytes(a, compute) +
           (compute == DType::f32 ? 0 : threads * mib) + mib / 16;
  const std::int64_t length = a.length, D = a.head_size;
  const std::int64_t q = std::min<std::int64_t>(length >= 768   ? 256
                                                : length >= 192 ? 64
                                                                : 32,
                                                length),
                     kv = std::min<std::int64_t>(512, length);
  const std::int64_t results = 3 * a.batch * length * a.query_heads * D * size_of(compute);
  const std::int64_t tiles = threads * 4 * (2 * q * kv + 2 * q + q * D);
  const Bytes own = a.is_plain() ? 0 : own_loop_bytes(a, compute, threads);
  if (compute == DType::f32) return std::max(results + tiles, own);
  const std::int64_t of_products = (compute == DType::f16 ? 512 : 128) * 1024;
  return std::max(results + tiles + threads * (2 * 2 * q * kv + 4 * q * kv + of_products), own);
}

}  // namespace

program::Bytes library_bytes(const LibraryCalls& calls, std::int64_t threads) {
  Bytes most = threads * product_scratchpad_bytes(calls.compute, calls.widest);
  for (const Attention& a : calls.attention)
    most = std::max(most, attention_bytes(a, calls.compute, threads));
  return most;
}

Bytes gpu_library_bytes(const LibraryCalls& c, bool deterministic) {
  const Bytes beside = 64 * mib + 64 * c.micro_batch_size * c.length;
  Bytes most = beside;
  for (const Attention& a : c.attention)
    most = std::max(most, operations::gpu_workspace_bytes(a, c.compute, deterministic, beside));
  return most;
}

}  // namespace trainx::architectures
