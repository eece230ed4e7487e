#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) of queries and keys, which with
/// values behind them are columns of x[N, C]. Values and elements
/// of a head beyond the rotated ones are as they were. With `starts` positions count from a
/// document's first token.
struct Rotary {
  static constexpr std::string_view name = "rotary";
  static constexpr Work work = Work::norm;
  enum Input : int { x, starts };
  enum Output : int { y };

  std::int64_t query_heads = 1, key_value_heads = 1, head_size = 1, length = 1;
  std::vector<float> frequencies;  // radians a position; of each pair, from the head's first on
  double factor = 1;               // of cos and sin
  bool neighbours = false;         // pairs are neighbours; else one of each half
  double clip = 0;                 // x is cut to [-clip, clip] first; 0: it is not

  bool operator==(const Rotary&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
