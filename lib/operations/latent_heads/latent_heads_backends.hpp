// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/latent_heads/latent_heads.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void latent_heads(const LatentHeads& l, const Tensor& y, const LatentParts& from);
void latent_heads_backward(const LatentHeads& l, const LatentParts& to, const Tensor& dy,
                           const LatentParts& addends);
}  // namespace cpu

namespace cuda {
void latent_heads(const Gpu& gpu, const LatentHeads& l, const Tensor& y, const LatentParts& from);
void latent_heads_backward(const Gpu& gpu, const LatentHeads& l, const LatentParts& to,
                           const Tensor& dy, const LatentParts& addends);
}  // namespace cuda

}  // namespace trainx::operations
