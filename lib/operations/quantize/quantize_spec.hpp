#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/op_spec.hpp"
#include "operations/quantize/fp8_scaling_spec.hpp"

namespace trainx::operations {

/// e4m3: 4 exponent bits, 3 mantissa bits, bias 7, no infinity. e5m2: 5 and 2, bias 15, infinities
/// and NaNs as in fp16.
enum class Fp8 : std::uint8_t { e4m3, e5m2 };

/// Classes of tensors that are cast, by which a step counts what becomes of their elements.
enum class Fp8Class : std::uint8_t { inputs, weights, gradients };
constexpr int fp8_classes = 3;
/// Elements, those of them that became zero and were not, those that were cut to the largest value
/// of the format, and those that are not finite.
constexpr int fp8_count_kinds = 4;
/// Of delayed scaling (kernels/quantize/fp8_ranges.hpp): numbers that are counted behind those, and
/// the state of a tensor.
constexpr int fp8_exponents = 128, fp8_range_state = 17;
/// What a tensor that is cast is called in the counts of a step: f64 [fp8_classes, blocks of the
/// model, tensors of a class in a block, fp8_count_kinds].
struct Fp8Site {
  Fp8Class of = Fp8Class::inputs;
  int number = 0;
};

/// What shares one scale: the whole tensor; 128 elements of a row; 128 elements of each of 128
/// rows. The last ones of a row or column may be smaller.
enum class Fp8Granularity : std::uint8_t { tensor, vector, block };
constexpr std::int64_t fp8_block = 128;
/// f32: the scales of x[rows, columns], in the layout of kernels/quantize/fp8_bits.hpp.
TensorType fp8_scale_type(Fp8Granularity granularity, std::int64_t rows, std::int64_t columns);

/// Kernels that a GPU launches for a tensor: one finds the scale and one casts. One does both where
/// scales are known before, or belong to blocks.
constexpr std::int64_t quantize_kernels(Fp8Scaling scaling) { return reads_of_cast(scaling); }

/// values = fp8(f(x) / scale), scale = max|f(x)| / largest(format): see quantize.hpp.
///
/// Outputs: values (u8: the bits of one fp8 number each) with x's dims, and scale (f32 [1]); on
/// GPUs transposed too (u8 [columns, rows] of x), where asked for. With Fp8Scaling::blocks scale
/// belongs to vectors of rows; transposed is made on CPUs too, and has its own transposed_scale, of
/// vectors of columns. It has no backward: whoever reads the values brings the gradient of x.
struct Quantize {
  static constexpr std::string_view name = "quantize";
  static constexpr Work work = Work::copy;
  static constexpr bool of_rows_alone = true;
  enum Input : int { x };
  enum Output : int { values, scale, transposed, transposed_scale };

  Fp8 format = Fp8::e4m3;
  // what is cast is this function of x, which is then kept nowhere: on GPUs, GELUs alone
  Activation activation = Activation::none;
  bool gated = false;  // ... of the left half of x's columns, times the right half (Gated)
  Fp8Scaling scaling = Fp8Scaling::current;
  int number = 0;  // Fp8Site's, of the inputs of a block
  // GPUs multiply what lies along the dimension that is summed: for weight gradients, along rows
  bool transposes = false;

  bool operator==(const Quantize&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types&) const { return {}; }
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
};

/// Does a GPU's kernel that casts compute this function, and its derivative, on the way? And this
/// gate?
bool casts_activation(Activation f, DType compute);
bool casts_gate(Activation f, DType compute);

}  // namespace trainx::operations
