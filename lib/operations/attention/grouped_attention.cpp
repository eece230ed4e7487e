#include "operations/attention/grouped_attention.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/common/dispatch.hpp"

namespace trainx::operations {

void grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse, const Tensor& qkv,
                       const Tensor& seen) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::grouped_attention(*gpu, a, out, lse, qkv, seen);
  return cpu::grouped_attention(a, out, lse, qkv, seen);
}

void grouped_attention_backward(const Attention& a, const Tensor& d_qkv, const Tensor& d_out,
                                const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                const Tensor& seen) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_qkv))
      return cuda::grouped_attention_backward(*gpu, a, d_qkv, d_out, qkv, out, lse, seen);
  return cpu::grouped_attention_backward(a, d_qkv, d_out, qkv, out, lse, seen);
}

}  // namespace trainx::operations
