#include "operations/attention/attention.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/attention/attention_backends.hpp"

namespace trainx::operations {

void document_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                        const Tensor& starts, AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out))
      return cuda::document_attention(*gpu, out, lse, qkv, starts, kind);
  return cpu::document_attention(out, lse, qkv, starts, kind);
}

void document_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                 const Tensor& out, const Tensor& lse, const Tensor& starts,
                                 AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_qkv))
      return cuda::document_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, starts, kind);
  return cpu::document_attention_backward(d_qkv, d_out, qkv, out, lse, starts, kind);
}

}  // namespace trainx::operations
