#pragma once
#include "model/bert/shape.hpp"
#include "model/block.hpp"

namespace trainx::model::bert {

/// Token, position and segment embeddings, norm, dropout. Slots: spec::bert::EmbeddingSlot.
class Embedding final : public Block {
 public:
  explicit Embedding(const Shape& shape) : shape_(shape) {}
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;

 private:
  void sum(BlockContext& c, const Tensor& out) const;
  Shape shape_;
};

}  // namespace trainx::model::bert
