// A block made of any differentiable ATen operations, a torch::nn::Module's forward among them, on
// the operands of an explicit block.
#pragma once
#include "model/block.hpp"
#include <functional>

namespace trainx::model {

/// Which slots of a BlockSpec hold what goes in and out, and where the gradient of each is;
/// program::none: it is not wanted.
struct AutogradEnds {
  struct Pair {
    program::Slot slot = program::none, gradient = program::none;
  };
  std::vector<Pair> values_in, values_out, groups;
};

/// What the function sees: values read and parameters (by group, by tensor), all of them leaves
/// that want gradients in backward; the rest of the operands by slot.
struct AutogradInputs {
  const BlockContext& context;
  std::vector<at::Tensor> values;
  std::vector<std::vector<at::Tensor>> parameters;
};
/// Returns one tensor for each of `values_out`.
using AutogradFunction = std::function<std::vector<at::Tensor>(const AutogradInputs&)>;

/// Backward runs the function again under grad mode and then autograd's engine, so that the graph
/// and what it saves live within one instruction, and any program (accumulation, activation
/// checkpointing) may use it. What it allocates lies outside the arena. The function must be pure:
/// a module with buffers that change in forward would change them twice.
class AutogradBlock final : public Block {
 public:
  AutogradBlock(const program::ModelGraph& graph, const program::BlockSpec& spec, AutogradEnds ends,
                AutogradFunction function);
  void forward(BlockContext& c) override;
  void backward(BlockContext& c) override;

 private:
  AutogradInputs inputs(const BlockContext& c, bool with_gradients) const;

  AutogradEnds ends_;
  AutogradFunction function_;
  std::vector<int> tensors_;  // of each group
};

/// The spec of an AutogradBlock with the slots of `block`: it saves nothing, and its backward reads
/// what forward reads.
program::BlockSpec autograd_spec(const program::BlockSpec& block, const AutogradEnds& ends);

}  // namespace trainx::model
