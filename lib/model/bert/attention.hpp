#pragma once
#include "model/bert/sublayer.hpp"

namespace trainx::model::bert {

/// Self-attention over a sample's own tokens, output projection without its bias. Slots:
/// spec::bert::AttentionSlot.
class Attention final : public Sublayer {
 public:
  explicit Attention(const Shape& shape);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;

 private:
  /// [N, 3, H, D] as [B, T, 3, H, D], and [N, H, D] as [B, T, H, D].
  Tensor by_sample(const Tensor& x) const;
  Tensor by_row(const Tensor& x) const { return x.view({shape_.rows(), -1}); }
};

}  // namespace trainx::model::bert
