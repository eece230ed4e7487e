#pragma once
#include "operations/latent_heads/latent_heads_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// Rows of LatentHeads' operands.
struct LatentParts {
  Tensor queries, keys_values, latent;
};
void latent_heads(const LatentHeads& l, const Tensor& y, const LatentParts& from);
/// Gradients of the parts (undefined: not wanted), plus `addends` (undefined: 0), which may be
/// them.
void latent_heads_backward(const LatentHeads& l, const LatentParts& to, const Tensor& dy,
                           const LatentParts& addends);

}  // namespace trainx::operations
