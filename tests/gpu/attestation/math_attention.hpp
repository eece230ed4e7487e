// A sabotage: attention with the same numbers by plain math. Scores exist as a whole: products and
// a softmax of LibTorch instead of one fused kernel, on the stream of the step, so that a captured
// graph holds them.
#pragma once
#include "model/composed_block.hpp"

namespace trainx::train::test {

/// On a GPU alone. What only a fused backward needs of the forward is left unwritten.
class MathAttention : public model::ComposedBlock {
 public:
  using ComposedBlock::ComposedBlock;

 protected:
  void run_forward(const operations::BoundOp& op, const operations::OpContext& c) const override;
  void run_backward(const operations::BoundOp& op, const operations::OpContext& c) const override;
};

}  // namespace trainx::train::test
