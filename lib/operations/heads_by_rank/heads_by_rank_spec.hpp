#pragma once
#include "operations/op_spec.hpp"
#include <algorithm>

namespace trainx::operations {

/// Heads that lie side by side: queries, keys or values.
struct HeadSection {
  std::int64_t heads = 1, size = 1;
  /// Of those that each of `ranks` computes with: its share, or the one that it shares with others.
  std::int64_t of_rank(std::int64_t ranks) const {
    return std::max<std::int64_t>(1, heads / ranks);
  }
  std::int64_t columns() const { return heads * size; }
  bool operator==(const HeadSection&) const = default;
};

/// Rows of a rank's own tokens and all heads, ordered by the ranks that are to have the heads, so
/// that equal pieces go from rank to rank (Jacobs et al. 2023, arXiv:2309.14509): y[R * N, c] of
/// x[N, C], where rows [r * N, (r + 1) * N) are columns of rank r. With `joins` the way back: y[N,
/// R * c] of x[R * N, c]. Fewer key-value heads than ranks go to each that needs them, and their
/// gradients add up.
struct HeadsByRank {
  static constexpr std::string_view name = "heads_by_rank";
  static constexpr Work work = Work::norm;
  enum Input : int { x };
  enum Output : int { y };

  std::vector<HeadSection> sections = {};  // of a row of all heads, side by side
  std::int64_t ranks = 1;
  bool joins = false;

  std::int64_t all_columns() const;
  std::int64_t columns_of_rank() const;

  bool operator==(const HeadsByRank&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

 private:
  void order(const Tensor& by_rank, const Tensor& rows) const;
  void order_back(const Tensor& rows, const Tensor& by_rank, bool adds) const;
};

}  // namespace trainx::operations
