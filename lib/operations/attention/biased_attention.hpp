// Attention over another text, and with biases of scores by distance: on CPUs.
#pragma once
#include "operations/attention/attention_spec.hpp"
#include "operations/dropout/dropout.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What is attended with and to. N = batch * queries of a sample.
struct AttentionText {
  Tensor qkv;            // [N, (H + 2 K) * D]; with memory [N, H * D]
  Tensor memory;         // [batch * memory_length, 2 * K * D]; undefined: keys and values are qkv's
  Tensor seen;           // lengths i32 [batch] of the keys; undefined: causal
  Tensor biases;         // [buckets, H]; undefined: none
  Dropout dropout = {};  // of probabilities
};

/// Gradients, undefined where they are not wanted; of the biases f32, added to what is there where
/// `accumulates`.
struct AttentionTextGradients {
  Tensor qkv, memory, biases;
  bool accumulates = false;
};

/// out[n, H, D] and lse[n, H] (f32; undefined: not kept) of the last n rows of each sample; fewer
/// than qkv has: of one sample whose others were there before. Rows of a text that lengths end, and
/// rows that see nothing, get zeros.
void biased_attention(const Attention& a, const AttentionText& text, const Tensor& out,
                      const Tensor& lse);
void biased_attention_backward(const Attention& a, const AttentionText& text, const Tensor& out,
                               const Tensor& lse, const Tensor& d_out,
                               const AttentionTextGradients& to);

}  // namespace trainx::operations
