#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// The mean of each sample's rows without padding, a row a sample: what opens a head of first rows
/// reads all of them.
struct MeanPool {
  static constexpr std::string_view name = "mean_pool";
  static constexpr Work work = Work::norm;
  enum Input : int { x, lengths };  // [batch * length, columns]; i32 [batch]
  enum Output : int { pooled };

  std::int64_t batch = 1, length = 1;

  bool operator==(const MeanPool&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
