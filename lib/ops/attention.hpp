// Causal self-attention (Dao et al. 2022, arXiv:2205.14135: scores never exist as a whole) on packed queries, keys and values.
#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// out[B, T, H, D], lse[B, T, H] (f32) of qkv[B, T, 3, H, D]; scores are scaled with 1 / sqrt(D).
void causal_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv);
/// d_qkv[B, T, 3, H, D] of d_out[B, T, H, D].
void causal_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse);

}  // namespace trainx::ops
