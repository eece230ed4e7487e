// Attention with all that libraries' kernels do not take: fewer key-value heads than query heads
// (Ainslie et al. 2023, arXiv:2305.13245), windows, scores of another scale or under a soft cap
// (Gemma 2, arXiv:2408.00118), dropout of probabilities, scores that fall with distance (ALiBi:
// Press et al. 2021, arXiv:2108.12409), sinks (Xiao et al. 2023, arXiv:2309.17453).
#pragma once
#include "operations/attention/attention_spec.hpp"
#include "operations/dropout/dropout.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What attention reads; undefined: absent.
struct AttentionInputs {
  Tensor qkv;   // [N, H * D | K * D | K * V]
  Tensor seen;  // i32, lengths [B] or documents' starts [n]
  Dropout dropout = {};
  Tensor sinks = {};  // [H]
};
struct AttentionGradients {
  Tensor qkv;
  Tensor sinks = {};        // f32 [H]; undefined: not wanted
  bool accumulate = false;  // sinks
};

/// out[n, H, V] and lse[n, H] (f32; undefined: not kept): the last n rows of each sample; N = n, or
/// one sample with rows before them. A row that sees no key gets zeros.
void grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in);
/// d_out[N, H * V].
void grouped_attention_backward(const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse);

}  // namespace trainx::operations
