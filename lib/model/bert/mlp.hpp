#pragma once
#include "model/bert/sublayer.hpp"

namespace trainx::model::bert {

/// Linear, GELU, linear without its bias. Slots: spec::bert::MlpSlot.
class Mlp final : public Sublayer {
 public:
  explicit Mlp(const Shape& shape);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;
};

}  // namespace trainx::model::bert
