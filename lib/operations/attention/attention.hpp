// Self-attention on packed queries, keys and values, by whichever kind of it was asked for; but for
// AttentionKind::math scores never exist as a whole (Dao et al. 2022, arXiv:2205.14135). A kind
// that cannot compute what it is given is an error, never another kind. out[B, T, H, D], lse[B, T,
// H] (f32) of qkv[B, T, 3, H, D]; scores are scaled with 1 / sqrt(D). d_qkv[B, T, 3, H, D] of
// d_out[B, T, H, D].
#pragma once
#include "tensor/tensor.hpp"
#include "core/attention_kind.hpp"

namespace trainx::operations {

/// Of a bias that was added to all rows of qkv: sum[3 H D] (f32) = or += d_qkv over them.
struct BiasGradient {
  Tensor sum = {};  // undefined: not wanted
  bool accumulate = false;
};

/// A token sees itself and those before it.
void causal_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                      AttentionKind kind = AttentionKind::automatic);
/// `lse`: as forward of the same kind left it; on a GPU its layout is that kind's own.
void causal_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                               const Tensor& out, const Tensor& lse,
                               AttentionKind kind = AttentionKind::automatic,
                               const BiasGradient& bias = {});

/// Of one sample, the last n rows alone: out[n, H, D] of qkv[T, 3, H, D], n <= T, where the keys
/// and values of the T - n rows before are there already.
void cached_attention(const Tensor& out, const Tensor& qkv);

/// A token sees the first lengths[b] tokens of its sample, lengths i32 [B] from 0 to T. On a CPU
/// flash knows no mask: padding is left out, neighbours of one length are computed together. Rows
/// past a length get zeros, and so do their gradients.
void bidirectional_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                             const Tensor& lengths, AttentionKind kind = AttentionKind::automatic);
void bidirectional_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                      const Tensor& out, const Tensor& lse, const Tensor& lengths,
                                      AttentionKind kind = AttentionKind::automatic,
                                      const BiasGradient& bias = {});

/// Rows hold documents one behind the other: a token sees itself and those before it in its
/// document. starts i32 [B, T]: where in the row a token's document begins, -1: padding at the end
/// of a row, whose rows get zeros, and so do their gradients. On a GPU automatic is trainx's own
/// kernels, math computes all scores of a row, and the other kinds cannot.
void document_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                        const Tensor& starts, AttentionKind kind = AttentionKind::automatic);
void document_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                 const Tensor& out, const Tensor& lse, const Tensor& starts,
                                 AttentionKind kind = AttentionKind::automatic);

}  // namespace trainx::operations
