#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

/// The loss that keeps experts evenly busy (Fedus et al. 2021, arXiv:2101.03961), as transformers
/// counts it over all layers: experts * sum over experts of f p, f the tokens that chose an expert
/// and p the sum of its softmax, both by the layers' tokens. Part of a head: it is added to the
/// loss of the micro-batch, `scale` times, as often as that has targets, so that the mean over
/// targets has it once. Evaluation does without it.
struct RouterLoss {
  static constexpr std::string_view name = "router_loss";
  static constexpr Work work = Work::loss;
  static constexpr bool of_tokens_alone = true;
  /// balance f32 [2, experts] of Router, of the last layer; targets i32, below 0: none; all [ranks,
  /// 2, experts]: of ranks that share the micro-batch, what each has counted. Of `target_ranks`
  /// each then adds the loss of its own targets.
  enum Input : int { balance, targets, all };

  std::int64_t experts = 1;
  std::int64_t rows = 1;  // tokens of the micro-batch, of all layers with experts
  double scale = 0;
  std::int64_t ranks = 1;         // that share the micro-batch
  std::int64_t target_ranks = 1;  // that have other targets of it

  bool operator==(const RouterLoss&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  /// Behind the head's rows: the loss, and the gradient of `balance`.
  void finish_loss(const OpContext& c) const;
  void finish_gradient(const OpContext& c) const;

 private:
  Tensor counted(const OpContext& c) const;
};

}  // namespace trainx::operations
