#include "spec/arch/library_bytes.hpp"
#include <algorithm>

namespace trainx::spec {

// ATen's attention for CPUs (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, 2.11) allocates its results, of which backward's, the gradients of
// queries, keys and values, are the largest, and works on tiles of q x kv scores per thread: in backward two in fp32 and, under 16-bit floats, two rounded ones.
// Products of 16-bit floats are oneDNN's, which repacks blocks of its operands into a scratchpad per thread: measured up to 193 KiB (fp16: 425 KiB) in linear layers, whatever
// their size, and inside attention up to 4 bytes per score of a tile and 64 KiB (fp16: 273 KiB, as two threads happen to meet). fp32 products allocate nothing, nor do the
// blocks themselves.
program::Bytes library_bytes(const LibraryCalls& calls, std::int64_t threads) {
  const std::int64_t length = calls.length, D = calls.head_size;
  const std::int64_t q = std::min<std::int64_t>(length >= 768 ? 256 : length >= 192 ? 64 : 32, length), kv = std::min<std::int64_t>(512, length);
  const std::int64_t results = 3 * calls.micro_batch_size * length * calls.hidden_size * size_of(calls.compute);
  const std::int64_t tiles = threads * 4 * (2 * q * kv + 2 * q + q * D);
  if (calls.compute == DType::f32) return results + tiles;
  const std::int64_t scratchpad = (calls.compute == DType::f16 ? 512 : 256) * 1024;
  return std::max(threads * scratchpad, results + tiles + threads * (2 * 2 * q * kv + 4 * q * kv + scratchpad / (calls.compute == DType::f16 ? 1 : 2)));
}

namespace {

std::int64_t score_bytes(const LibraryCalls& c) {       // of a sample
  const std::int64_t padded = (c.length + 63) / 64 * 64;
  return c.hidden_size / c.head_size * padded * padded * 2;
}

}  // namespace

std::int64_t attention_backward_calls(const LibraryCalls& c, bool deterministic) {
  if (!deterministic || c.compute == DType::f32) return 1;
  const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{256} << 20) / score_bytes(c));
  return (c.micro_batch_size + most - 1) / most;
}

program::Bytes gpu_library_bytes(const LibraryCalls& c, bool deterministic) {
  const std::int64_t rows = c.micro_batch_size * c.length, heads = c.hidden_size / c.head_size;
  const std::int64_t usual = (std::int64_t{64} << 20) + rows * (4 * c.hidden_size + 8 * heads + 64);
  if (!deterministic || c.compute == DType::f32) return usual;
  const std::int64_t calls = attention_backward_calls(c, deterministic), samples = (c.micro_batch_size + calls - 1) / calls;
  return std::max(usual, (std::int64_t{2} << 20) + samples * (score_bytes(c) + 8 * heads * (c.length + 63)));
}

}  // namespace trainx::spec
