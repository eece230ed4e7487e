#pragma once
#include "model/gpt2/sublayer.hpp"

namespace trainx::model::gpt2 {

/// Norm, causal self-attention (of packed rows inside each document), output projection without its
/// bias. Slots: spec::AttentionSlot.
class Attention final : public Sublayer {
 public:
  Attention(const Shape& shape, bool first);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;

 private:
  void attend(BlockContext& c) const;
  /// d_qkv from d_attention_out[N, H, D].
  void attend_backward(BlockContext& c, const Tensor& d_attention_out) const;
};

}  // namespace trainx::model::gpt2
