#include "operations/attention/attention.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/attention/attention_backends.hpp"

namespace trainx::operations {

void cached_attention(const Tensor& out, const Tensor& qkv) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::cached_attention(*gpu, out, qkv);
  return cpu::cached_attention(out, qkv);
}

}  // namespace trainx::operations
