// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "core/attention_kind.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Attention;           // attention_spec.hpp
struct AttentionInputs;     // grouped_attention.hpp
struct AttentionGradients;  // grouped_attention.hpp
struct BiasGradient;        // attention.hpp
struct Gpu;                 // operations/common/gpu.hpp

namespace cpu {
void causal_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv, AttentionKind kind);
void causal_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                               const Tensor& out, const Tensor& lse, AttentionKind kind);
void bidirectional_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                             const Tensor& lengths, AttentionKind kind);
void bidirectional_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                      const Tensor& out, const Tensor& lse, const Tensor& lengths,
                                      AttentionKind kind);
void cached_attention(const Tensor& out, const Tensor& qkv);
void document_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                        const Tensor& starts, AttentionKind kind);
void document_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                 const Tensor& out, const Tensor& lse, const Tensor& starts,
                                 AttentionKind kind);
void grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in);
void grouped_attention_backward(const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse);
}  // namespace cpu

namespace cuda {
void causal_attention(const Gpu& gpu, const Tensor& out, const Tensor& lse, const Tensor& qkv,
                      AttentionKind kind);
void causal_attention_backward(const Gpu& gpu, const Tensor& d_qkv, const Tensor& d_out,
                               const Tensor& qkv, const Tensor& out, const Tensor& lse,
                               AttentionKind kind, const BiasGradient& bias);
void cached_attention(const Gpu& gpu, const Tensor& out, const Tensor& qkv);
void bidirectional_attention(const Gpu& gpu, const Tensor& out, const Tensor& lse,
                             const Tensor& qkv, const Tensor& lengths, AttentionKind kind);
void bidirectional_attention_backward(const Gpu& gpu, const Tensor& d_qkv, const Tensor& d_out,
                                      const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                      const Tensor& lengths, AttentionKind kind,
                                      const BiasGradient& bias);
void document_attention(const Gpu& gpu, const Tensor& out, const Tensor& lse, const Tensor& qkv,
                        const Tensor& starts, AttentionKind kind);
void document_attention_backward(const Gpu& gpu, const Tensor& d_qkv, const Tensor& d_out,
                                 const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                 const Tensor& starts, AttentionKind kind);
void grouped_attention(const Gpu& gpu, const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in);
void grouped_attention_backward(const Gpu& gpu, const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse);
}  // namespace cuda

}  // namespace trainx::operations
