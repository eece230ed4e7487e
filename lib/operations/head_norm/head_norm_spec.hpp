#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// A norm of queries and one of keys (Dehghani et al. 2023, arXiv:2302.05442), which with values
/// are columns of x[N, (query heads + 2 * key-value heads) * head size]; values are as they were.
/// A group of elements that is normed is a head, or all queries (all keys) of a row. Weights and
/// biases are as wide as a group, which heads then share, or have an element for each column.
struct HeadNorm {
  static constexpr std::string_view name = "head_norm";
  static constexpr Work work = Work::norm;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x };
  enum Parameter : int { query_weight, query_bias, key_weight, key_bias };
  enum Output : int { y, mean, rstd };  // mean: not of an RMSNorm

  std::int64_t query_heads = 1, key_value_heads = 1, head_size = 1;
  bool whole = false;  // a group is all queries or all keys
  bool rms = true;     // RMSNorm, else LayerNorm
  double epsilon = 1e-6, weight_offset = 0;

  bool operator==(const HeadNorm&) const = default;
  std::int64_t groups() const { return whole ? 2 : query_heads + key_value_heads; }

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
