// Attention as its formula is written, softmax(q k^T / sqrt(D)) v, with the scores of all pairs in
// memory: on whatever device the tensors are.
#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace trainx::operations {

/// Which keys a query sees: those of its sample, `causal`: up to its own, `lengths` (i32 [B];
/// undefined: all T): the first lengths[b] alone, `starts` (i32 [B, T]; undefined: 0) those from
/// starts[b, t] on, of padding -1. Rows of padding get zeros, and so do their gradients.
struct MaskOperands {
  bool causal = false;
  at::Tensor lengths, starts;
  /// bool [B, T]: where rows are padding; undefined where there is none.
  at::Tensor padding(std::int64_t tokens) const;
};

/// out[B, T, H, D], lse[B, H, T] (f32) of qkv[B, T, 3, H, D]. Two products of H matrices a sample.
/// Softmax in fp32; scores and probabilities are rounded to the operands' type where they enter and
/// leave a product.
void math_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
                    const MaskOperands& sight);
/// d_qkv[B, T, 3, H, D] of d_out[B, T, H, D]. Five products: the scores are computed again.
void math_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out,
                             const at::Tensor& qkv, const at::Tensor& out,
                             const MaskOperands& sight);

/// bool [B, T]: where a row is padding.
at::Tensor padding(const at::Tensor& lengths, std::int64_t tokens);

}  // namespace trainx::operations
