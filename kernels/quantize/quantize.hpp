#pragma once
#include "kernels/fold_memory.hpp"
#include "kernels/quantize/fp8_bits.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// What is cast, in the type of x (bf16, unless it is x itself): x, an activation of x, or what x
/// is as the gradient of an activation's result, times its derivative at `pre`; of gates the
/// gradients of both halves of `pre`, side by side. Activations are cast to e4m3 and gradients of
/// them to e5m2; both need the pointers and sizes that are faster.
enum class Fp8Source : std::uint8_t {
  plain,
  gelu_tanh,
  gelu_erf,
  gelu_tanh_gradient,
  gelu_erf_gradient,
  gated_silu,
  gated_gelu_tanh,
  gated_silu_gradient,
  gated_gelu_tanh_gradient
};

/// scale = max|source| / largest, at least 2^-126; values = fp8(source * (1 / scale)), rounded to
/// nearest, ties to even. A NaN or an infinity in it makes scale and values NaN.
template <class T>
struct Quantization {
  std::int64_t rows = 0, columns = 0;
  // [rows, columns]; of gates [rows, 2 columns], of their gradient [rows, columns / 2]
  const T* x = nullptr;
  float* scale = nullptr;              // [1]
  bool scale_is_made = false;          // ... and is there: of a plain source
  std::uint8_t* values = nullptr;      // [rows, columns]; null: not wanted
  std::uint8_t* transposed = nullptr;  // [columns, rows]; null: not wanted
  Fp8Format format = Fp8Format::e4m3;
  Fp8Source source = Fp8Source::plain;
  const T* pre = nullptr;  // [rows, columns], of a gradient
  float* column_sums =
      nullptr;               // [columns] = or += those of what is cast to e5m2; null: not wanted
  bool accumulate = false;   // they are added to
  double* counts = nullptr;  // [fp8_counts], added to; null: not wanted
  // a range that was known before (fp8_ranges.hpp), from which the scale is made; null, or 0: the
  // scale is made of what is cast (0: in the launch that casts, which takes longer)
  const double* known = nullptr;
  // [fp8_exponents]: one or more are added where the largest magnitude's exponent belongs, none
  // where larger ones do; null: not wanted
  double* exponents = nullptr;
};

/// Same bits on host and device, whatever the order, except for column sums, which are folded in a
/// fixed order on one GPU, and for what an activation rounds differently. Pointers need their
/// element's alignment; 16 bytes, with rows and columns multiples of 16, are faster.
void quantize_reference(const Quantization<float>& op);
void quantize_reference(const Quantization<Bf16>& op);
void quantize_reference(const Quantization<Fp16>& op);
/// Of FoldMemory::partial.
std::int64_t quantize_partial_bytes(std::int64_t columns);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launches: quantize_values_kernel, unless x
/// is empty or the scale alone is wanted; before it quantize_scale_kernel, unless the scale is made
/// or the other finds it (known).
cudaError_t quantize(const Quantization<float>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t quantize(const Quantization<Bf16>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t quantize(const Quantization<Fp16>& op, const FoldMemory& memory, cudaStream_t stream);
/// As advance_fp8_ranges on a host, unless *guard is not finite. One launch.
cudaError_t advance_fp8_ranges(double* states, const double* counts, std::int64_t tensors,
                               const double* guard, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
