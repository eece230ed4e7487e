#pragma once
#include "core/attention_kind.hpp"
#include "core/dtype.hpp"
#include "program/program.hpp"
#include <cstdint>

namespace trainx::architectures {

/// What a transformer's calls of ATen are about.
struct LibraryCalls {
  std::int64_t micro_batch_size, length, hidden_size, head_size;
  DType compute;
  AttentionKind attention = AttentionKind::automatic;
  // attention inside the documents of a row: on a GPU never cuDNN's
  bool packed = false;
  std::int64_t widest = 0;  // of all rows that layers read or make, logits too
  bool grouped = false;     // heads of keys and values serve several of queries
  // a soft cap or dropout: on a GPU never cuDNN's
  bool capped_or_dropped = false;
  bool own_loops = false;  // of a CPU: not LibTorch's attention
};
/// Most that ATen's CPU kernels (attention, linear layers) allocate of their own within one
/// instruction, with `threads` threads.
program::Bytes library_bytes(const LibraryCalls& calls, std::int64_t threads);
/// What oneDNN's products of 16-bit floats take of it for a thread, on the CPUs that take most.
program::Bytes product_scratchpad_bytes(DType compute, std::int64_t widest);
/// What cuBLAS keeps of a GPU's workspace for LibTorch's batched products (math attention), for
/// good.
constexpr program::Bytes kept_product_bytes = std::int64_t{40} << 20;
/// Of the matrix products of a stream.
constexpr program::Bytes gemm_workspace_bytes = std::int64_t{32} << 20;
/// In how many calls a GPU's attention goes through a micro-batch backward: one, but where it is to
/// be deterministic under bf16. cuDNN then keeps the gradients of all scores, 2 bytes each, of as
/// many samples as 256 MiB hold, and at least one (lib/gpu/cudnn_attention.cpp).
std::int64_t attention_backward_calls(const LibraryCalls& calls, bool deterministic);
/// The workspace of a GPU's stream: matrix products, the attention's backward (its sums of query
/// gradients are fp32), sorted tokens, folded sums, and what LibTorch's attention allocates,
/// results too. One instruction at a time uses it.
program::Bytes gpu_library_bytes(const LibraryCalls& calls, bool deterministic);

}  // namespace trainx::architectures
