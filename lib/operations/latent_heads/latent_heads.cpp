#include "operations/latent_heads/latent_heads.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/latent_heads/latent_heads_backends.hpp"

namespace trainx::operations {

void latent_heads(const LatentHeads& l, const Tensor& y, const LatentParts& from) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::latent_heads(*gpu, l, y, from);
  return cpu::latent_heads(l, y, from);
}

void latent_heads_backward(const LatentHeads& l, const LatentParts& to, const Tensor& dy,
                           const LatentParts& addends) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dy)) return cuda::latent_heads_backward(*gpu, l, to, dy, addends);
  return cpu::latent_heads_backward(l, to, dy, addends);
}

}  // namespace trainx::operations
