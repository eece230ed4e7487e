#pragma once
#include "model/block.hpp"
#include "model/gpt2/shape.hpp"

namespace trainx::model::gpt2 {

/// Final norm, linear layer tied to the token embedding, cross-entropy: some rows at a time. Slots: spec::HeadSlot.
class Head final : public Block {
 public:
  explicit Head(const Shape& shape) : shape_(shape) {}
  void loss(BlockContext& c) override;
  void evaluate(BlockContext& c) override;
  void predict(BlockContext& c) override;

 private:
  /// Rows [first, first + count) of the micro-batch.
  struct Chunk { std::int64_t first, count; };
  template <class F>
  void for_chunks(const BlockContext& c, std::int64_t rows, F f) const;
  /// Norm and logits of the rows in `residual`; the logits in f32 are returned.
  at::Tensor logits(BlockContext& c, std::int64_t count) const;
  void add_residual(BlockContext& c, Chunk chunk) const;
  void backward(BlockContext& c, Chunk chunk, const at::Tensor& d_logits) const;
  void add_loss(BlockContext& c, const Chunk& chunk) const;

  Shape shape_;
};

}  // namespace trainx::model::gpt2
