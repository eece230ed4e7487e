#pragma once
#include "model/gpt2/sublayer.hpp"

namespace trainx::model::gpt2 {

/// Norm, linear, GELU, linear without its bias. Slots: spec::MlpSlot.
class Mlp final : public Sublayer {
 public:
  explicit Mlp(const Shape& shape);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;
};

}  // namespace trainx::model::gpt2
