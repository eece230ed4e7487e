#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Queries, keys and values as Attention reads them, where ranks have parts of a layer that has
/// fewer key-value heads than there are ranks (grouped queries: Ainslie et al. 2023,
/// arXiv:2305.13245): y[N, queries | D | V] of queries[N, H * D] of a rank's own and of all
/// key-value heads, keys_values[N, K * D | K * V], of which neighbours read the same one.
struct SharedHeads {
  static constexpr std::string_view name = "shared_heads";
  static constexpr Work work = Work::norm;
  enum Input : int { queries, keys_values };
  enum Output : int { y };

  std::int64_t key_value_heads = 1, head_size = 1, value_size = 1;
  std::int64_t ranks = 1;  // a multiple of key_value_heads

  bool operator==(const SharedHeads&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
