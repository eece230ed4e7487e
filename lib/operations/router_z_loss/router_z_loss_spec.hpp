#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// The loss that keeps logits of routers small (Zoph et al. 2022, arXiv:2202.08906, eq. 5): the
/// mean over tokens, and over layers, of log(sum(exp(logits)))^2. Part of a head, and of the loss,
/// as RouterLoss is.
struct RouterZLoss {
  static constexpr std::string_view name = "router_z_loss";
  static constexpr Work work = Work::loss;
  static constexpr bool of_tokens_alone = true;
  /// z f32 [1] of Router, of the last layer; targets i32, below 0: none; all [ranks, 1]: z of ranks
  /// that have the same targets.
  enum Input : int { z, targets, all };

  std::int64_t rows = 1;  // tokens of the micro-batch, of all layers with experts
  double scale = 0;
  std::int64_t ranks = 1;  // that have the same targets

  bool operator==(const RouterZLoss&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  /// Behind the head's rows: the loss, and the gradient of `z`.
  void finish_loss(const OpContext& c) const;
  void finish_gradient(const OpContext& c) const;
};

}  // namespace trainx::operations
