#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// e4m3: 4 exponent bits, 3 mantissa bits, bias 7, no infinity. e5m2: 5 and 2, bias 15, infinities
/// and NaNs as in fp16.
enum class Fp8 : std::uint8_t { e4m3, e5m2 };

/// That a GPU launches for a tensor: one finds the scale, one casts.
constexpr std::int64_t quantize_kernels = 2;

/// values = fp8(x / scale), scale = max|x| / largest(format): see quantize.hpp.
///
/// Outputs: values (u8: the bits of one fp8 number each) with x's dims, and scale (f32 [1]); on
/// GPUs transposed too (u8 [columns, rows] of x), where asked for. It has no backward: whoever
/// reads the values brings the gradient of x.
struct Quantize {
  static constexpr std::string_view name = "quantize";
  static constexpr Work work = Work::copy;
  enum Input : int { x };
  enum Output : int { values, scale, transposed };

  Fp8 format = Fp8::e4m3;
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

}  // namespace trainx::operations
