#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// A token's row once for each of its k experts, sorted by expert: rows[N * k, H] of x[N, H]. The
/// sort is stable, so that an expert has its tokens in their order. How many an expert has is known
/// where it is computed alone; buffers hold the N * k rows that there are however they are spread.
///
/// With a capacity an expert has at most `capacity` rows, the first that choose it (Fedus et al.
/// 2021, arXiv:2101.03961), and further choices are dropped: rows[min(N * k, experts * capacity),
/// H], those that are kept without gaps, and what follows is not written. Where ranks share the
/// micro-batch, its first choices are those of the first ranks' tokens.
struct Dispatch {
  static constexpr std::string_view name = "dispatch";
  static constexpr Work work = Work::copy;
  static constexpr bool of_tokens_alone = true;
  /// indices i32 [N, k]: experts of each token; below 0, where `sparse`: none; all i32 [ranks * N,
  /// k]: those of all ranks, which a capacity needs to know.
  enum Input : int { x, indices, all };
  /// places i32 [N, k]: the row of each token and expert, -1: there is none; offsets i32
  /// [experts + 1]: an expert's first row, and last of all their count.
  enum Output : int { rows, places, offsets };

  std::int64_t experts = 1;
  std::int64_t capacity = 0;       // rows of an expert; 0: any number
  std::int64_t ranks = 1;          // that share the micro-batch, and the capacity
  bool sparse = false;             // there may be choices without a row
  std::int64_t most_rows = 0;      // that there are, however tokens choose; 0: one for each choice
  std::int64_t expected_rows = 0;  // if all experts have as many; 0: one for each choice
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
