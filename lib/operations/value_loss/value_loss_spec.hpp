#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// What a target of real numbers costs: the squared difference; or, of numbers from 0 to 1, the
/// binary cross-entropy of the logit's sigmoid.
enum class ValueLossKind : std::uint8_t { squared, binary };

/// The loss of rows of logits against rows of real numbers, the mean over a row's columns, summed
/// over rows, and its gradient over the logits.
struct ValueLoss {
  static constexpr std::string_view name = "value_loss";
  static constexpr Work work = Work::loss;
  enum Input : int { logits, targets };  // targets: f32, of the logits' shape

  ValueLossKind kind = ValueLossKind::squared;

  bool operator==(const ValueLoss&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  /// Adds to the step's sums; with `seed` the logits become their gradient.
  void run_loss(const OpContext& c) const;
  void run_evaluation(const OpContext& c) const;
};

}  // namespace trainx::operations
