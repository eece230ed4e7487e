#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

/// Rows of a head that are trained instead of its weight's: y[N, V] = base[N, V] = x[N, C]
/// weight[V, C]^T, except for columns ids[k], which are x rows[k, C]^T. Of ranks with parts of the
/// columns each replaces those of its own.
struct TokenLogits {
  static constexpr std::string_view name = "token_logits";
  static constexpr Work work = Work::norm;  // beside products
  static constexpr bool of_rows_alone = true;
  enum Input : int { x, base };
  /// rows: [ids + 1, C], of which the last is not used (TokenRows).
  enum Parameter : int { rows };
  enum Output : int { y };
  /// columns: those of `ids`, [N, ids], or their gradients. cast: as Linear has it.
  enum Scratch : int { columns, cast, scratch_count };

  std::vector<std::int32_t> ids = {};

  bool operator==(const TokenLogits&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

 private:
  /// Columns of logits[N, V] that are replaced; -1: another rank has it.
  std::vector<std::int32_t> own_ids(const OpContext& c, const Tensor& logits) const;
};

}  // namespace trainx::operations
