#pragma once
#include "operations/cross_entropy/cross_entropy_spec.hpp"

namespace trainx::operations {

/// The summed cross-entropy of rows whose logits lie over ranks, by what each rank knows of its
/// classes (LogitSums): all[ranks, N, 5], of which own[N, 5] are this rank's, which alone get a
/// gradient here. Each rank makes the same loss.
struct PartLoss {
  static constexpr std::string_view name = "part_loss";
  static constexpr Work work = Work::loss;
  enum Input : int { own, all, targets };

  std::int64_t classes = 0;
  CrossEntropy::Score score = CrossEntropy::Score::none;  // or correct
  double smoothing = 0, z_loss = 0;                       // evaluation has none

  bool operator==(const PartLoss&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_loss(const OpContext& c) const;
  void run_evaluation(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
