#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// What experts made of a token, by its weights: y[n] = sum over j of weights[n, j] *
/// rows[places[n, j]], in the order of j, plus shared[n], where an expert computes all tokens,
/// times sigmoid(gate[n]), where that has a gate. Sums are of fp32.
struct Combine {
  static constexpr std::string_view name = "combine";
  static constexpr Work work = Work::sum;
  static constexpr bool of_tokens_alone = true;
  /// rows[N * k, H]; weights f32 [N, k], or none: all are 1; places i32 [N, k], below 0, where
  /// `sparse`: there is no row, and the sum is without it; shared[N, H]; gate[N, 1].
  enum Input : int { rows, weights, places, shared, gate };
  enum Output : int { y };

  bool sparse = false;
  std::int64_t expected_rows = 0;  // that are read; 0: all

  bool operator==(const Combine&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
