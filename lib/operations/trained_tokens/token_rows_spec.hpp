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
  /// places: i32 [N], which of `rows` a token is. scaled: the gradient times `scale`. own: i32 [N],
  /// which of the part's rows a token has.
  enum Scratch : int { places, scaled, own, scratch_count };

  std::vector<std::int32_t> ids = {};
  double scale = 1;                              // of the embedding's rows
  std::int64_t untrained_token = program::none;  // learns nothing here
  // Ranks have parts of so many rows of the table, and each replaces those of its own, which
  // makes a share of the sum that `base` is a share of; 0: it has them all.
  std::int64_t part_rows = 0;

  bool operator==(const TokenRows&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

 private:
  /// Tokens as rows of the part that is here.
  Tensor own_tokens(const OpContext& c) const;
  /// `all` as rows of that part; -1: it is elsewhere.
  std::vector<std::int32_t> own_ids(const OpContext& c, std::vector<std::int32_t> all) const;
};

}  // namespace trainx::operations
