#pragma once
#include "model/gpt2/sublayer.hpp"

namespace trainx::model::gpt2 {

/// Norm, causal self-attention, output projection without its bias. Slots: spec::AttentionSlot.
class Attention final : public Sublayer {
 public:
  Attention(const Shape& shape, bool first);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;
};

}  // namespace trainx::model::gpt2
