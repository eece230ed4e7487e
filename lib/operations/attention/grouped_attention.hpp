// Attention with fewer key-value heads than query heads (Ainslie et al. 2023, arXiv:2305.13245),
// windows, and scores of another scale or under a soft cap (Gemma 2, arXiv:2408.00118).
#pragma once
#include "operations/attention/attention_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// out[n, H, D] and lse[n, H] (f32; undefined: not kept) of qkv[N, (H + 2 K) * D]: the last n rows
/// of each sample; N = n, or one sample with rows before them. seen: documents' starts i32 [n],
/// undefined: causal.
void grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse, const Tensor& qkv,
                       const Tensor& seen);
/// d_qkv[N, (H + 2 K) * D] of d_out[N, H * D].
void grouped_attention_backward(const Attention& a, const Tensor& d_qkv, const Tensor& d_out,
                                const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                const Tensor& seen);

}  // namespace trainx::operations
