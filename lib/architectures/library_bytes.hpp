#pragma once
#include "operations/attention/attention_spec.hpp"
#include <cstdint>
#include <vector>

namespace trainx::architectures {

/// What a transformer's calls of ATen are about.
struct LibraryCalls {
  std::int64_t micro_batch_size, length;  // the longer side's
  DType compute;
  std::int64_t widest = 0;  // of all rows that layers read or make, logits too
  std::vector<operations::Attention> attention{};  // that differ
};
/// Most that ATen's CPU kernels (attention, linear layers) allocate of their own within one
/// instruction, with `threads` threads.
program::Bytes library_bytes(const LibraryCalls& calls, std::int64_t threads);
/// What oneDNN's products of 16-bit floats take of it for a thread, on the CPUs that take most.
program::Bytes product_scratchpad_bytes(DType compute, std::int64_t widest);
/// Of the matrix products of a stream.
constexpr program::Bytes gemm_workspace_bytes = std::int64_t{32} << 20;
/// The workspace of a GPU's stream: matrix products, attention, sorted tokens, folded sums. One
/// instruction at a time uses it.
program::Bytes gpu_library_bytes(const LibraryCalls& calls, bool deterministic);

}  // namespace trainx::architectures
