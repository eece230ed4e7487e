#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Counts the tokens that each expert of each layer computes, for the report of a step. Part of a
/// head, in training alone: the counts are added to a scalar of the model, f64
/// [layers, experts + 1], whose last column counts choices that no expert computed.
struct ExpertLoads {
  static constexpr std::string_view name = "expert_loads";
  static constexpr Work work = Work::other;
  static constexpr bool of_tokens_alone = true;
  /// Input l: offsets i32 [experts + 1] of Dispatch, of layer l of those with experts.
  std::int64_t experts = 1;
  std::int64_t choices = 0;  // that a layer makes in a micro-batch: tokens * experts per token

  bool operator==(const ExpertLoads&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void finish_loss(const OpContext& c) const;
};

}  // namespace trainx::operations
