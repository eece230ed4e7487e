#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y[N, F] = (u + 1) g sigmoid(alpha g) of x[N, 2 F], whose columns are gate and up by turns:
/// g = min(gate, limit), u = up within +-limit (gpt-oss, arXiv:2508.10925).
struct ClampedGated {
  static constexpr std::string_view name = "clamped_gated";
  static constexpr Work work = Work::activation;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x };
  enum Output : int { y };

  double alpha = 1.702, limit = 7;

  bool operator==(const ClampedGated&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
