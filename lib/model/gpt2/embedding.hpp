#pragma once
#include "model/block.hpp"
#include "model/gpt2/shape.hpp"

namespace trainx::model::gpt2 {

/// Token and position embeddings. Slots: spec::EmbeddingSlot.
class Embedding final : public Block {
 public:
  explicit Embedding(const Shape& shape) : shape_(shape) {}
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;

 private:
  Tensor document_starts(const BlockContext& c) const;

  Shape shape_;
};

}  // namespace trainx::model::gpt2
