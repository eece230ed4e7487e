#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y[N, F] = f(x[:, :F]) * x[:, F:] of x[N, 2 F]: the gate and what it opens stand side by side
/// (gated linear units: Shazeer 2020, arXiv:2002.05202).
struct Gated {
  static constexpr std::string_view name = "gated";
  static constexpr Work work = Work::activation;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x };
  enum Output : int { y };

  Activation activation = Activation::silu;
  bool computed_behind = false;  // y is made nowhere: the Quantize operation that reads x casts it

  bool operator==(const Gated&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
