// GPT-2 written plainly over differentiable ATen operations, in fp64: what the explicit blocks are
// held against.
#pragma once
#include "compare.hpp"
#include "architectures/gpt2.hpp"
#include <ATen/core/Tensor.h>
#include <cstdint>
#include <map>
#include <string>

namespace trainx::model::test {

struct ReferenceBatch {
  at::Tensor tokens, targets, positions;
};  // as in the graph

struct ReferenceResult {
  double loss_sum = 0, target_count = 0;
  // by Hugging Face name, fp64, of loss_seed * loss_sum; padded rows included
  std::map<std::string, at::Tensor> gradients;
  at::Tensor logits;  // [B, T, V]
};

/// Weights by Hugging Face name, [out, in]. With dims.dropout > 0 factors come from Philox, element
/// by element. In another type than fp64 each operation is what torch does in that type (attention
/// its own fused one), the loss in fp32: what that costs in accuracy.
ReferenceResult reference_gpt2(const architectures::Gpt2Dims& dims,
                               const std::map<std::string, at::Tensor>& weights,
                               const ReferenceBatch& batch, std::uint64_t seed, double loss_seed,
                               at::ScalarType compute = at::kDouble);

}  // namespace trainx::model::test
