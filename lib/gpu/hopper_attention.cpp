#include "gpu/hopper_attention.hpp"
#include "core/hopper_kernels.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/reduce/column_sum.hpp"
#include <algorithm>

namespace trainx::gpu::hopper {
namespace {

using kernels::Bf16;
using kernels::hopper::packed_rows, kernels::hopper::plain_rows;

kernels::hopper::Size size_of(const AttentionProblem& p) {
  return {.batch = p.batch,
          .tokens = p.tokens,
          .heads = p.heads,
          .head_size = p.head_size,
          .causal = p.causal,
          .scale = p.scale,
          .key_value_heads = p.key_value_heads,
          .window = p.window,
          .dropped = p.dropped};
}

kernels::AttentionDropout dropout_of(const AttentionProblem& p, const AttentionInputs& in) {
  return p.dropped ? kernels::attention_dropout(in.dropout) : kernels::AttentionDropout{};
}

/// Of the kernels, without column sums, which lie behind: also behind the memory that adds them up
/// (FoldMemory), which lies at the workspace's beginning.
std::int64_t own_bytes(const AttentionProblem& p) {
  auto bytes = static_cast<std::int64_t>(kernels::hopper::workspace_bytes(size_of(p)));
  if (p.column_sums)
    bytes = std::max(bytes, kernels::column_sum_partial_bytes(3 * p.heads * p.head_size));
  return (bytes + 15) / 16 * 16;
}

}  // namespace

void forward(const AttentionProblem& p, const AttentionInputs& in, const float* sinks, void* out,
             float* lse, cudaStream_t stream) {
  const kernels::hopper::Size size = size_of(p);
  const auto* const from = static_cast<const Bf16*>(in.qkv);
  const kernels::hopper::Forward pass{packed_rows(from, 0, size),
                                      packed_rows(from, 1, size),
                                      packed_rows(from, 2, size),
                                      plain_rows(static_cast<Bf16*>(out), size),
                                      lse,
                                      p.documents ? in.seen : nullptr,
                                      p.padded ? in.seen : nullptr,
                                      sinks,
                                      dropout_of(p, in)};
  if constexpr (has_hopper_kernels)
    require(kernels::hopper::attention_forward(pass, size, stream),
            "attention " + describe(p) + " failed");
}

std::int64_t backward_workspace_bytes(const AttentionProblem& p) {
  if constexpr (has_hopper_kernels) {
    const std::int64_t own = own_bytes(p);
    if (!p.column_sums) return own;
    const AttentionColumnSums sums = hopper::column_sums_in(nullptr, p);
    const std::int64_t columns = p.heads * p.head_size;
    return own + (sums.query_slabs + 2 * sums.key_slabs) * columns * trainx::size_of(DType::f32);
  }
  return 0;
}

AttentionColumnSums column_sums_in(void* workspace, const AttentionProblem& p) {
  AttentionColumnSums sums;
  if constexpr (has_hopper_kernels) {
    const kernels::hopper::Size size = size_of(p);
    sums.query_slabs = kernels::hopper::query_slabs(size);
    sums.key_slabs = kernels::hopper::key_slabs(size);
    sums.queries = reinterpret_cast<float*>(static_cast<char*>(workspace) + own_bytes(p));
    sums.keys_values = sums.queries + sums.query_slabs * p.heads * p.head_size;
  }
  return sums;
}

void backward(const AttentionProblem& p, const AttentionInputs& in, const void* out,
              const float* lse, const void* d_out, void* d_qkv, float* delta,
              const StreamSpace& space) {
  if (const std::int64_t needed = backward_workspace_bytes(p); space.workspace_bytes < needed)
    throw InternalError("attention " + describe(p) + " needs a workspace of " +
                        std::to_string(needed) + " bytes");
  const kernels::hopper::Size size = size_of(p);
  const auto* const from = static_cast<const Bf16*>(in.qkv);
  auto* const to = static_cast<Bf16*>(d_qkv);
  kernels::hopper::Backward pass{packed_rows(from, 0, size),
                                 packed_rows(from, 1, size),
                                 packed_rows(from, 2, size),
                                 plain_rows(static_cast<const Bf16*>(out), size),
                                 plain_rows(static_cast<const Bf16*>(d_out), size),
                                 lse,
                                 packed_rows(to, 0, size),
                                 packed_rows(to, 1, size),
                                 packed_rows(to, 2, size),
                                 nullptr,
                                 nullptr,
                                 space.workspace,
                                 p.documents ? in.seen : nullptr,
                                 p.padded ? in.seen : nullptr,
                                 delta,
                                 dropout_of(p, in)};
  if (p.column_sums) {
    const AttentionColumnSums sums = hopper::column_sums_in(space.workspace, p);
    pass.query_sums = sums.queries, pass.key_value_sums = sums.keys_values;
  }
  if constexpr (has_hopper_kernels)
    require(kernels::hopper::attention_backward(pass, size, space.stream),
            "attention " + describe(p) + " backward failed");
}

}  // namespace trainx::gpu::hopper
