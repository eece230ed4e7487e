#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// A token's row once for each of its k experts, sorted by expert: rows[N * k, H] of x[N, H]. The
/// sort is stable, so that an expert has its tokens in their order. How many an expert has is known
/// where it is computed alone; buffers hold the N * k rows that there are however they are spread.
///
/// Of experts that several ranks share, rows are in as many slots of `capacity` rows, those of a
/// rank's experts at the beginning of its slot: rows[parts * capacity, H]. What follows is not
/// written. Choices beyond the capacity are an error, or are dropped.
///
/// With a capacity and one part, an expert has at most `capacity` rows, the first that choose it
/// (Fedus et al. 2021, arXiv:2101.03961), and further choices are dropped: rows[min(N * k, experts
/// * capacity), H], those that are kept without gaps, and what follows is not written.
struct Dispatch {
  static constexpr std::string_view name = "dispatch";
  static constexpr Work work = Work::copy;
  /// indices i32 [N, k]: experts of each token; below 0, where `sparse`: none.
  enum Input : int { x, indices };
  /// places i32 [N, k]: the row of each token and expert, -1: there is none; offsets i32
  /// [experts + 1]: an expert's first row if there were no gaps, and last of all their count;
  /// owners i32 [parts * capacity], of slots: which of its rank's experts a row is for, or -1.
  enum Output : int { rows, places, offsets, owners };

  std::int64_t experts = 1;
  std::int64_t parts = 1, capacity = 0;  // slots, or rows of an expert; 0: any number
  bool drops = false;
  bool sparse = false;  // there may be choices without a row
  /// What the GPU's sort has shared memory for.
  static constexpr std::int64_t gpu_experts = 1024;

  bool operator==(const Dispatch&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
