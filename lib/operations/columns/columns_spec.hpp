#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y[N, count] = columns [first, first + count) of x[N, C].
struct Columns {
  static constexpr std::string_view name = "columns";
  static constexpr Work work = Work::norm;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x };
  enum Output : int { y };

  std::int64_t first = 0, count = 1;

  bool operator==(const Columns&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
