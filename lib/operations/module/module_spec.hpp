#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Values = a module of the user's own (trainx::GraphModule), computed by LibTorch: forward under
/// autograd, backward by its engine. The last module of a graph has no outputs: its loss and all
/// gradients are one instruction.
struct Module {
  static constexpr std::string_view name = "module";
  static constexpr Work work = Work::other;
  // the scalar that an own loss adds its metrics to: [metrics, 2], sum and count of each
  static constexpr std::string_view own_metrics = "own_metrics";
  // positions; then what the module reads; of cross_entropy the last one is the targets
  enum Input : int { positions, first };
  // none: it makes values. cross_entropy: summed, of the logits that it returns. own: it returns
  // its own sum and count.
  enum class Loss : std::uint8_t { none, cross_entropy, own };

  std::vector<std::vector<std::int64_t>> dims;  // of the values that it makes
  std::int64_t graph_bytes = 0;
  // that its forward and backward were measured to take, of a loss both in one; 0: they were not
  double forward_s = 0, backward_s = 0;
  bool cheap = false;  // selective recomputation drops what autograd keeps
  Loss loss = Loss::none;

  /// The output behind its values: what autograd keeps from forward to backward.
  int graph() const { return static_cast<int>(dims.size()); }

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
