#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y = x with elements dropped; a sample has `length` rows. y may be x.
struct DropoutLayer {
  static constexpr std::string_view name = "dropout";
  static constexpr Work work = Work::dropout;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x, positions };
  enum Output : int { y };

  double probability = 0;
  std::int64_t length = 1;
  int site = 0;  // of the block's

  bool operator==(const DropoutLayer&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
