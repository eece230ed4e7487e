#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

/// Rows of an embedding that are trained instead of the table's: y[N, C] = base[N, C], except where
/// tokens[n] = ids[k]: there `rows`[k, C] stands in the table's place. The table itself gets no
/// gradient.
struct TokenRows {
  static constexpr std::string_view name = "token_rows";
  static constexpr Work work = Work::embedding;
  enum Input : int { tokens, base };
  /// rows: [ids + 1, C], whose last row stands for all other tokens and stays zero. table: what
  /// base was looked up in, where base is a sum with positions or segments.
  enum Parameter : int { rows, table };
  enum Output : int { y };
  /// places: i32 [N], which of `rows` a token is. scaled: the gradient times `scale`.
  enum Scratch : int { places, scaled, scratch_count };

  std::vector<std::int32_t> ids = {};
  double scale = 1;                              // of the embedding's rows
  std::int64_t untrained_token = program::none;  // learns nothing here

  bool operator==(const TokenRows&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
