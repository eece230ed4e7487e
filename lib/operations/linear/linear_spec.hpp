#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// y[N, out] = x[N, in] weight[out, in]^T + bias[out], and an activation of it.
///
/// Outputs: y alone; of a GELU the sum before it too (`preactivation`, y is `activated`), which its
/// backward reads. A tanh is computed in place.
struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr Work work = Work::activation;  // beside products
  /// input_sum: what x is the activation of, where this backward differentiates that, too.
  enum Input : int { x, input_sum };
  /// input_bias: of input_sum; its gradient is a by-product.
  enum Parameter : int { weight, bias, input_bias };
  enum Output : int { preactivation, y };

  Activation activation = Activation::none;
  Activation input_activation = Activation::none;  // of input_sum
  bool differentiated_behind = false;              // its activation, by the operation that reads it
  bool logits = false;                             // on a CPU y is f32 whatever is computed in

  bool operator==(const Linear&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

  // unused_bias, unused_input_bias: of frozen ones, which kernels sum beside other work
  enum Scratch : int { cast, low, unused_bias, unused_input_bias };

 private:
  bool differentiates() const { return activation != Activation::none && !differentiated_behind; }
  bool wants_input_gradient(const Types& t) const {
    return t.wants_gradient(input_activation != Activation::none ? input_sum : x);
  }
};

}  // namespace trainx::operations
