#include "operations/attention/attention.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/attention/attention_backends.hpp"

namespace trainx::operations {

void causal_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv, AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::causal_attention(*gpu, out, lse, qkv, kind);
  return cpu::causal_attention(out, lse, qkv, kind);
}

void causal_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                               const Tensor& out, const Tensor& lse, AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_qkv))
      return cuda::causal_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, kind);
  return cpu::causal_attention_backward(d_qkv, d_out, qkv, out, lse, kind);
}

void bidirectional_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                             const Tensor& lengths, AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out))
      return cuda::bidirectional_attention(*gpu, out, lse, qkv, lengths, kind);
  return cpu::bidirectional_attention(out, lse, qkv, lengths, kind);
}

void bidirectional_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                      const Tensor& out, const Tensor& lse, const Tensor& lengths,
                                      AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_qkv))
      return cuda::bidirectional_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, lengths,
                                                    kind);
  return cpu::bidirectional_attention_backward(d_qkv, d_out, qkv, out, lse, lengths, kind);
}

}  // namespace trainx::operations
