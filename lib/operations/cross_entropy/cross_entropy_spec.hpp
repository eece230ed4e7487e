#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

/// The summed cross-entropy of rows of logits over their first `classes` columns, in nats, and its
/// gradient over the logits. Evaluation counts what a row's most probable class is.
struct CrossEntropy {
  static constexpr std::string_view name = "cross_entropy";
  static constexpr Work work = Work::loss;
  enum Input : int { logits, targets };
  enum class Score : std::uint8_t { none, correct, confusion };
  enum Scratch : int { row_loss, predictions };

  std::int64_t classes = 0;
  Score score = Score::none;
  double scale = 1;                  // of logits
  double soft_cap = 0;               // then they become cap * tanh(logit / cap); 0: they stay
  double smoothing = 0, z_loss = 0;  // kernels/loss/loss_form.hpp; evaluation has none

  bool operator==(const CrossEntropy&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  /// Adds to the step's sums; with `seed` the logits become their gradient.
  void run_loss(const OpContext& c) const;
  void run_evaluation(const OpContext& c) const;
  /// Scales and caps logits where they lie, for who reads them.
  void finish_logits(const Tensor& logits) const;
  bool changes_logits() const { return scale != 1 || soft_cap > 0; }
};

}  // namespace trainx::operations
