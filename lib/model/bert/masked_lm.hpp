#pragma once
#include "model/bert/head.hpp"

namespace trainx::model::bert {

/// Dense, GELU, norm, linear layer tied to the token embedding, cross-entropy: of rows that have a
/// target, some at a time. Slots: spec::bert::MaskedLmSlot.
class MaskedLm final : public Head {
 public:
  explicit MaskedLm(const Shape& shape);
  void loss(BlockContext& c) override;
  void evaluate(BlockContext& c) override;
  void predict(BlockContext& c) override;

 private:
  Tensor forward_logits(const BlockContext& c, Chunk chunk) const;
  void backward(const BlockContext& c, Chunk chunk, const Tensor& d_logits) const;
};

}  // namespace trainx::model::bert
