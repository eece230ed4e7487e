// BERT written plainly over differentiable ATen operations, in fp64: what the explicit blocks are
// held against.
#pragma once
#include "compare.hpp"
#include "architectures/bert.hpp"
#include <cstdint>
#include <map>
#include <string>

namespace trainx::model::test {

// as in the graph; labels: classification only
struct BertBatch {
  at::Tensor tokens, targets, positions, token_types, lengths, labels;
};

struct BertResult {
  double loss_sum = 0, target_count = 0;
  // by Hugging Face name, fp64, of loss_seed * loss_sum; padded rows included
  std::map<std::string, at::Tensor> gradients;
  at::Tensor hidden;  // [B, T, C], the last layer's
  at::Tensor logits;  // [B, num_labels] or [B, T, V]
};

/// Weights by Hugging Face name, [out, in]. With dims.dropout > 0 factors come from Philox, element
/// by element. In another type than fp64 each operation is what torch does in that type (attention
/// its own fused one), the loss in fp32: what that costs in accuracy.
BertResult reference_bert(const architectures::BertDims& dims,
                          const std::map<std::string, at::Tensor>& weights, const BertBatch& batch,
                          std::uint64_t seed, double loss_seed,
                          at::ScalarType compute = at::kDouble);

}  // namespace trainx::model::test
