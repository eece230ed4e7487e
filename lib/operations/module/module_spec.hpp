#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y = a module of the user's own (trainx::Module), computed by LibTorch: forward under autograd,
/// backward by its engine. The last module of a chain reads targets and has no outputs: its logits,
/// their summed cross-entropy and all gradients are one instruction.
struct Module {
  static constexpr std::string_view name = "module";
  static constexpr Work work = Work::other;
  enum Input : int { x, positions, targets };
  enum Output : int { y, graph };  // graph: what autograd keeps from forward to backward

  std::vector<std::int64_t> dims;  // of y
  std::int64_t graph_bytes = 0;

  bool operator==(const Module&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  /// Keeps the graph if the instruction has it as an operand. Evaluation and forward whose
  /// activations are recomputed compute y alone.
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
  /// Adds to the step's sums and keeps the loss for run_backward.
  void run_loss(const OpContext& c) const;
  void run_evaluation(const OpContext& c) const;
};

}  // namespace trainx::operations
