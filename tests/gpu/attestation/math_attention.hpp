// A sabotage: GPT-2's attention block with the same numbers by plain math. Scores exist as a whole:
// products and a softmax of LibTorch instead of one fused kernel, on the stream of the step, so
// that a captured graph holds them.
#pragma once
#include "model/gpt2/sublayer.hpp"

namespace trainx::train::test {

/// On a GPU alone. Slots: spec::AttentionSlot; lse, which only a fused backward needs, is left
/// unwritten.
class MathAttention final : public model::gpt2::Sublayer {
 public:
  MathAttention(const model::gpt2::Shape& shape, bool first);
  void forward(model::BlockContext& c) override;
  void backward(model::BlockContext& c) override;
};

}  // namespace trainx::train::test
