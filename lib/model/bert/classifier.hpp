#pragma once
#include "model/bert/head.hpp"

namespace trainx::model::bert {

/// Pooler on the first token, dropout, linear layer, cross-entropy with the sample's label. Slots:
/// spec::bert::ClassifierSlot.
class Classifier final : public Head {
 public:
  explicit Classifier(const Shape& shape);
  void loss(BlockContext& c) override;
  void evaluate(BlockContext& c) override;
  void predict(BlockContext& c) override;

 private:
  Tensor forward_logits(const BlockContext& c) const;
  /// What the linear layer sees: the pooler's result, dropped out in training.
  const Tensor& classified(const BlockContext& c) const;
  operations::Dropout pooled_dropout(const BlockContext& c) const;
  Chunk all() const { return {0, shape_.batch}; }
};

}  // namespace trainx::model::bert
