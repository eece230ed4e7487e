#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Attention of an encoder whose queries see keys nearby, on both sides (Beltagy et al. 2020,
/// arXiv:2004.05150): those of its sample, without padding, at a distance below `window`. Operands
/// lie as those of Attention.
struct LocalAttention {
  static constexpr std::string_view name = "local_attention";
  static constexpr Work work = Work::attention;
  enum Input : int { qkv, lengths };  // [N, 3 * heads * head size]; i32 [batch]
  enum Output : int { out, lse };

  std::int64_t heads = 1, head_size = 1;
  std::int64_t batch = 1, length = 1;  // N = batch * length
  std::int64_t window = 1;

  bool operator==(const LocalAttention&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
