// Attention with all that libraries' kernels do not take: fewer key-value heads than query heads
// (Ainslie et al. 2023, arXiv:2305.13245), windows (Beltagy et al. 2020, arXiv:2004.05150), scores
// of another scale or under a soft cap (Gemma 2, arXiv:2408.00118), dropout of probabilities,
// biases of scores by distance (ALiBi: Press et al. 2021, arXiv:2108.12409; T5:
// relative_bias_spec), sinks (Xiao et al. 2023, arXiv:2309.17453), keys and values of another text.
// CPUs compute all of it; what GPUs do, Attention::has_gpu_kernel says.
#pragma once
#include "operations/attention/attention_spec.hpp"
#include "operations/dropout/dropout.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What attention reads; undefined: absent.
struct AttentionInputs {
  Tensor qkv;   // [N, H * D | K * D | K * V]; with a memory [N, H * D]
  Tensor seen;  // i32, lengths [B] or documents' starts [n]
  Dropout dropout = {};
  Tensor sinks = {};   // [H]
  Tensor memory = {};  // [batch * memory length, K * D | K * V]
  Tensor biases = {};  // [buckets, H], or of all heads that the rank has weights of
};
/// Which column of a table of biases is of the first head: 0 where it is of these heads alone.
inline std::int64_t first_bias_column(const Attention& a, const Tensor& table) {
  return table.size(1) == a.query_heads ? 0 : a.first_head % table.size(1);
}
/// Undefined: not wanted.
struct AttentionGradients {
  /// f32; what is there stays and is added to where `accumulate`.
  struct Parameter {
    Tensor sum;
    bool accumulate = false;
  };
  Tensor qkv, memory = {};
  Parameter sinks = {}, biases = {};
};

/// out[n, H, V] and lse[n, H] (f32; undefined: not kept): the last n rows of each sample; N = n, or
/// one sample with rows before them. A row that sees no key gets zeros, and -infinity.
void grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in);
/// d_out[N, H * V].
void grouped_attention_backward(const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse);

}  // namespace trainx::operations
