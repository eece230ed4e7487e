#pragma once
#include "model/bert/shape.hpp"
#include "model/block.hpp"
#include "spec/arch/bert_slots.hpp"

namespace trainx::model::bert {

/// Where an attention or MLP block keeps what they have in common: tensors of its group, and of the
/// group before, whose norm the residual goes through.
struct SublayerPlaces {
  int norm_weight, norm_bias, pending_bias;
  int norm_weight_before, norm_bias_before;
};

/// What an attention and an MLP block have in common: residual_out = norm before(residual_in) +
/// dropout(branch_in + pending bias), and its norm.
class Sublayer : public Block {
 protected:
  Sublayer(const Shape& shape, const SublayerPlaces& places) : shape_(shape), at_(places) {}
  /// residual_out, mean, rstd and normed: those of them that the instruction writes.
  void forward_norm(BlockContext& c) const;
  /// What the branch is computed from: the norm's result; in the first block the residual, which is
  /// complete.
  const Tensor& input(const BlockContext& c) const;
  /// Gradient of branch_out.
  const Tensor& d_branch(const BlockContext& c) const;
  /// From the gradient of the product that `input` enters: all of the input's gradient, that of the
  /// norm's parameters and the pending bias, and the value gradients of the block before.
  void backward_input(BlockContext& c, const Tensor& d_product, const Tensor& weight) const;
  void backward_linear(BlockContext& c, int weight, int bias, const Tensor& d_output,
                       const Tensor& input) const;

  Shape shape_;
  SublayerPlaces at_;
};

}  // namespace trainx::model::bert
