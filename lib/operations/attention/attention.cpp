#include "operations/attention/attention.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/column_sum/column_sum.hpp"

namespace trainx::operations {
namespace {

void add_up(const BiasGradient& bias, const Tensor& d_qkv) {
  if (bias.sum.defined()) column_sum(bias.sum, d_qkv.view({-1, bias.sum.numel()}), bias.accumulate);
}

}  // namespace

void causal_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv, AttentionKind kind) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::causal_attention(*gpu, out, lse, qkv, kind);
  return cpu::causal_attention(out, lse, qkv, kind);
}

void causal_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                               const Tensor& out, const Tensor& lse, AttentionKind kind,
                               const BiasGradient& bias) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_qkv))
      return cuda::causal_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, kind, bias);
  cpu::causal_attention_backward(d_qkv, d_out, qkv, out, lse, kind);
  add_up(bias, d_qkv);
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
                                      AttentionKind kind, const BiasGradient& bias) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_qkv))
      return cuda::bidirectional_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, lengths,
                                                    kind, bias);
  cpu::bidirectional_attention_backward(d_qkv, d_out, qkv, out, lse, lengths, kind);
  add_up(bias, d_qkv);
}

}  // namespace trainx::operations
