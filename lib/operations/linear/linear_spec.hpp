#pragma once
#include "operations/linear/epilogue_spec.hpp"
#include "operations/linear/quantized_product_spec.hpp"
#include "operations/op_spec.hpp"
#include <optional>

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

struct Fp8Tensor;  // quantize.hpp

/// y[N, out] = x[N, in] weight[out, in]^T + bias[out], and an activation of it.
///
/// Outputs: y alone; of a GELU the sum before it too (`preactivation`, y is `activated`), which its
/// backward reads. A tanh is computed in place.
struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr Work work = Work::activation;  // beside products
  static constexpr bool of_rows_alone = true;
  /// input_sum: what x is the activation of, where this backward differentiates that, too.
  /// input_scale: f32, of x where `fp8`. input_transposed: the same values [in, N], on a GPU that
  /// trains the weight; with scales of blocks what Quantize made by columns, with their scales.
  enum Input : int { x, input_sum, input_scale, input_transposed, input_transposed_scale };
  /// input_bias: of input_sum; its gradient is a by-product.
  enum Parameter : int { weight, bias, input_bias };
  enum Output : int { preactivation, y };

  Epilogue epilogue = {};
  Activation input_activation = Activation::none;  // of input_sum
  std::optional<QuantizedProduct> fp8 = {};        // x then holds values of fp8 (Quantize)
  bool adds_up = false;  // what all parts of the block make does: the first one adds the bias

  bool operator==(const Linear&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
  /// Writes fp8_weight*.
  void run_weight_casts(const OpContext& c) const;

  // unused_bias, unused_input_bias: of frozen ones, which kernels sum beside other work
  // fp8_*: operands of products in fp8, their transposes and scales; fp8_wide: the same in f32, as
  // a CPU multiplies them, and results before they are rounded
  enum Scratch : int {
    cast,
    low,
    unused_bias,
    unused_input_bias,
    fp8_weight,
    fp8_weight_scale,
    fp8_gradient,
    fp8_gradient_scale,
    fp8_wide,
    fp8_weight_transposed,
    fp8_gradient_transposed,
    fp8_weight_transposed_scale,
    fp8_gradient_transposed_scale,
    scratch_count
  };

 private:
  bool adds_bias(const OpContext& c) const;
  void run_products_backward(const OpContext& c, const Tensor& dy) const;
  void run_fp8_forward(const OpContext& c, bool multiplies, bool activates) const;
  void run_fp8_products_backward(const OpContext& c, const Tensor& dy) const;
  Fp8Tensor fp8_input(const OpContext& c) const;
  Fp8Tensor fp8_weights(const OpContext& c, bool forward) const;
  void add_fp8_scratch(Cost& cost, Direction direction, const Types& t) const;
  void add_gpu_fp8_scratch(Cost& cost, Direction direction, const Types& t) const;
  void add_weight_copies(Cost& cost, Direction direction, const Types& t) const;
  /// Is a GPU's cast of the gradient made, which sums its columns on the way?
  bool casts_gradient(const Types& t) const {
    return fp8 && t.gpu && (wants_input_gradient(t) || t.trains(weight));
  }
  bool wants_input_gradient(const Types& t) const {
    return t.wants_gradient(input_activation != Activation::none ? input_sum : x);
  }
};

/// Do products in fp8 on a GPU take the sizes of this linear layer? All are multiples of 16: then
/// rows of every operand begin at 16 bytes.
constexpr std::int64_t gpu_fp8_multiple = 16;
bool gpu_multiplies_fp8(const Types& of_linear);

}  // namespace trainx::operations
