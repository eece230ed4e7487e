// A block computes what its BlockSpec declares. It allocates nothing of its own accord, picks no
// stream, talks to no rank.
#pragma once
#include "operations/block_context.hpp"

namespace trainx::model {

using operations::BlockContext;
using operations::Mode;

class Block {
 public:
  virtual ~Block() = default;
  /// Writes the forward slots that the instruction uses: all of them (forward), or the dropped ones
  /// (recompute). The last block has none of both.
  virtual void forward(BlockContext& c);
  virtual void backward(BlockContext& c);
  /// Loss and its gradients in one; the gradient is seeded with c.loss_seed().
  virtual void loss(BlockContext& c);
  virtual void evaluate(BlockContext& c);
  virtual void predict(BlockContext& c);
};

/// A model's blocks, in the order of its graph.
using Blocks = std::vector<std::unique_ptr<Block>>;

}  // namespace trainx::model
