#pragma once
#include "model/block.hpp"
#include "model/gpt2/shape.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include <cstdint>

namespace trainx::model::gpt2 {

/// Final norm, linear layer tied to the token embedding, cross-entropy: some rows at a time. Slots:
/// spec::HeadSlot.
class Head final : public Block {
 public:
  explicit Head(const Shape& shape) : shape_(shape) {}
  void loss(BlockContext& c) override;
  void evaluate(BlockContext& c) override;
  void predict(BlockContext& c) override;

 private:
  /// Rows [first, first + count) of the micro-batch.
  struct Chunk {
    std::int64_t first, count;
  };
  template <class F>
  void for_chunks(const BlockContext& c, std::int64_t rows, F f) const;
  /// Residual, norm and logits of the chunk's rows.
  Tensor logits(BlockContext& c, Chunk chunk) const;
  void make_logits(BlockContext& c, const Tensor& normed, const Tensor& logits) const;
  operations::LossTo loss_to(const BlockContext& c, Chunk chunk) const;
  void backward(BlockContext& c, Chunk chunk, const Tensor& d_logits) const;

  Shape shape_;
};

}  // namespace trainx::model::gpt2
