#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// What ranks that share the parts of a layer hand to each other. The graph says where; a step
/// program has a collective there, and no block computes it.
///
/// rows_to_all: y[ranks * N, C] of x[N, C], the rows of all ranks in their order. Its gradient is
/// the sum of what all ranks make of it, of which each has its own rows; whole numbers have none.
/// sums_to_rows: y[N / ranks, C] of x[N, C], of which each rank has a share: a rank's own rows of
/// the sum. Its gradient is that of all rows.
/// parts_to_ranks: of R ranks, y[R * N, C] of x[R * N, C], of which each rank has N rows for each:
/// what all have for a rank, in their order. Its gradient goes the same way back.
/// numbers_to_all: y[ranks, N, C] of x[N, C], what each rank has of the same rows. It has no
/// gradient: who reads it makes that of x, of which each rank has its own.
struct Exchange {
  static constexpr std::string_view name = "exchange";
  static constexpr Work work = Work::copy;
  enum Input : int { x };
  enum Output : int { y };

  program::ExchangeKind kind = program::ExchangeKind::rows_to_all;
  std::int64_t ranks = 1;

  bool operator==(const Exchange&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
