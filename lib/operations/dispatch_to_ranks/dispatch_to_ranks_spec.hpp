#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// A token's row once for each of the `ranks` whose experts it chooses, in as many slots of equal
/// size: rows[ranks * S, H] of x[N, H], rank r's at r * S. Rows of a slot are in the order of
/// tokens, from its beginning; what follows is not written. Each rank has experts / ranks of the
/// experts, in their order.
///
/// With a capacity, of the choices of a rank's experts the first `capacity` are kept, in the order
/// of tokens. Further ones are dropped, or are UserError 71 on the host; a GPU drops. S is the
/// smaller of N and the capacity.
struct DispatchToRanks {
  static constexpr std::string_view name = "dispatch_to_ranks";
  static constexpr Work work = Work::copy;
  /// weights f32 [N, k], indices i32 [N, k]: experts of each token.
  enum Input : int { x, weights, indices };
  /// slot_weights f32 [ranks * S, k]: weights of the row's token, 0 of choices of other ranks;
  /// owners i32 [ranks * S, k]: which of its rank's experts those choices are, -1 of others and of
  /// rows without a token; places i32 [N, min(k, ranks)]: the token's rows, ranks ascending, -1
  /// behind; kept i32 [N, k], with a capacity: indices, -1 of choices that are dropped; offsets i32
  /// [experts + 1]: kept choices of the experts before.
  enum Output : int { rows, slot_weights, owners, places, kept, offsets };

  std::int64_t experts = 1, ranks = 1;
  std::int64_t capacity = 0;  // 0: any number
  bool drops = false;
  /// What the GPU's sort has shared memory for.
  static constexpr std::int64_t gpu_experts = 1024;

  bool operator==(const DispatchToRanks&) const = default;

  std::int64_t slot_rows(std::int64_t tokens) const {
    return capacity > 0 && capacity < tokens ? capacity : tokens;
  }

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
