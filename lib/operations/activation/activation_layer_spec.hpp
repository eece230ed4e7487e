#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y[N, C] = f(x[N, C]), where no product makes x: Linear computes its own.
struct ActivationLayer {
  static constexpr std::string_view name = "activation";
  static constexpr Work work = Work::activation;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x };
  enum Output : int { y };
  /// f32 [C], on a GPU: sums of the gradient's columns, which GELU's kernel makes and nobody reads.
  enum Scratch : int { unused_bias };

  Activation activation = Activation::gelu_tanh;  // one that is not computed in place

  bool operator==(const ActivationLayer&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
