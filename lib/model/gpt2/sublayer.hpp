#pragma once
#include "model/block.hpp"
#include "model/gpt2/shape.hpp"
#include "spec/arch/gpt2_slots.hpp"

namespace trainx::model::gpt2 {

/// Where an attention or MLP block keeps what they have in common. `first`: the first block finds
/// its residual complete.
struct SublayerPlaces {
  program::Slot residual_in, branch_in, d_residual_in, d_branch_in;
  int ln_weight, ln_bias, pending_bias;  // tensors of the group
  bool first = false;
};

/// What an attention and an MLP block have in common: residual_out = residual_in +
/// dropout(branch_in + pending bias), and its norm.
class Sublayer : public Block {
 protected:
  Sublayer(const Shape& shape, const SublayerPlaces& places) : shape_(shape), at_(places) {}
  /// residual_out, mean, rstd and normed: those of them that the instruction writes.
  void forward_norm(BlockContext& c) const;
  /// Gradient of branch_out.
  const Tensor& d_branch(const BlockContext& c) const;
  /// From d_normed: gradients of the norm's parameters and the pending bias, and the value
  /// gradients of the block before.
  void backward_norm(BlockContext& c) const;
  /// Weight and bias gradients of a linear layer with d_output[N, out], input[N, in]; bias: none
  /// when negative.
  void backward_linear(BlockContext& c, int weight, int bias, const Tensor& d_output,
                       const Tensor& input) const;

  Shape shape_;
  SublayerPlaces at_;
};

}  // namespace trainx::model::gpt2
