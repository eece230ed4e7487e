// A module of a user's chain as a block: forward under autograd, backward by its engine. Slots:
// architectures::ModuleSlot.
#pragma once
#include "model/block.hpp"
#include "model/custom/registry.hpp"

namespace trainx::model::custom {

/// Parameters are the arena's memory; what autograd keeps between forward and backward is the
/// library's (slot `graph`), and held here. Where an instruction has the slot, forward keeps the
/// graph; without (evaluation, activations that are recomputed) it computes values alone. Random
/// numbers of forward are drawn from a key of the run's seed, the block and the samples' positions:
/// the same when it is recomputed.
class ModuleBlock : public Block {
 public:
  /// The weights that construction gave are dropped: the arena holds them. Buffers become
  /// `compute`.
  ModuleBlock(Module module, DType compute);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;

 protected:
  /// The module's output for the slot `input`, which is made a leaf where gradients are wanted.
  at::Tensor run(const BlockContext& c, bool with_gradients);
  /// Hands out the gradients of the leaves, and lets go of them.
  void deliver_gradients(BlockContext& c);

  Module module_;
  std::vector<at::Tensor> parameters_;  // the module's, in the order of the group: matrices first
  at::Tensor input_, output_;           // while there is a graph

 private:
  void use_parameters(const BlockContext& c);
};

/// The last module: its logits, cross-entropy with the targets, and all gradients in one.
class LossBlock final : public ModuleBlock {
 public:
  using ModuleBlock::ModuleBlock;
  void loss(BlockContext& c) override;
  void evaluate(BlockContext& c) override;

 private:
  at::Tensor logits(const BlockContext& c, bool with_gradients);
  /// Summed over the targets that there are, in fp32; sum and count are added to their scalars.
  at::Tensor summed_loss(BlockContext& c, const at::Tensor& logits) const;
};

/// Blocks of custom_graph.
Blocks build_module_blocks(const architectures::CustomDims& dims, const program::ModelGraph& graph);

}  // namespace trainx::model::custom
