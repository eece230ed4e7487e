#include "operations/attention/grouped_attention.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/common/dispatch.hpp"

namespace trainx::operations {

void grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::grouped_attention(*gpu, a, out, lse, in);
  return cpu::grouped_attention(a, out, lse, in);
}

void grouped_attention_backward(const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_out))
      return cuda::grouped_attention_backward(*gpu, a, to, d_out, in, out, lse);
  return cpu::grouped_attention_backward(a, to, d_out, in, out, lse);
}

}  // namespace trainx::operations
