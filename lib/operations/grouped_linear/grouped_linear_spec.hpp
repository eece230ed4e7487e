#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// A linear layer for each expert, of the rows that the expert has: y[R, out] of x[R, in], rows
/// sorted by expert, and weight, whose elements are those of [experts, out, in].
struct GroupedLinear {
  static constexpr std::string_view name = "grouped_linear";
  static constexpr Work work = Work::matrix_product;
  static constexpr bool of_tokens_alone = true;
  /// offsets i32 [experts + 1], as Dispatch makes them.
  enum Input : int { x, offsets };
  /// bias: the elements of [experts, out]; it may be absent.
  enum Parameter : int { weight, bias };
  enum Output : int { y };

  std::int64_t experts = 1;
  std::int64_t per_token = 1;  // experts that compute a token: what is active of the parameters
  // rows that experts have, where x has room for more; 0: all of x
  std::int64_t expected_rows = 0;
  std::int64_t of_experts = 1;  // that there are, of which these are one rank's
  // an operation behind it reads x, too, whose gradient of it is there before: kernels overwrite
  bool adds_gradient = false;
  bool adds_up = false;  // what all parts of the block make does: the first one adds the bias

  bool operator==(const GroupedLinear&) const = default;

  bool adds_bias(const OpContext& c) const;
  /// Columns of y.
  std::int64_t features(const Types& t) const;
  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

  /// cast, of 16 bits: operands of a weight gradient in f32, so many rows at a time. own_gradient:
  /// of x, before it is added to the other.
  enum Scratch : int { cast, own_gradient };
  static constexpr std::int64_t cast_rows = 1024;
};

}  // namespace trainx::operations
