#include "spec/arch/gpt2_library.hpp"
#include <algorithm>

namespace trainx::spec {

// ATen's flash attention for CPUs (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, 2.11) works on tiles of q x kv scores, per thread: its backward
// keeps two tiles in fp32 and, under bf16, two rounded ones. Nothing else in the blocks allocates.
program::Bytes gpt2_library_bytes(const Gpt2Dims& dims, std::int64_t micro_batch_size, std::int64_t length, DType compute, std::int64_t threads) {
  const std::int64_t D = dims.hidden_size / dims.num_heads;
  const std::int64_t q = std::min<std::int64_t>(length >= 768 ? 256 : length >= 192 ? 64 : 32, length), kv = std::min<std::int64_t>(512, length);
  std::int64_t bytes = threads * 4 * (2 * q * kv + 2 * q + q * D);
  if (compute == DType::bf16) {
    const std::int64_t padded_kv = (length + 63) / 64 * 64, padded_head = (D + 63) / 64 * 64;
    bytes += threads * 2 * 2 * q * (kv + 64) + micro_batch_size * dims.num_heads * 2 * 2 * padded_kv * padded_head;   // rounded tiles; keys and values repacked
  }
  return bytes;
}

}  // namespace trainx::spec
