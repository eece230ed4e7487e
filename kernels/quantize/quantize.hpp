#pragma once
#include "kernels/fold_memory.hpp"
#include "kernels/quantize/fp8_bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// scale = max|x| / largest, at least 2^-126; values = fp8(x / scale), rounded to nearest, ties to
/// even. A NaN or an infinity in x makes scale and values NaN.
template <class T>
struct Quantization {
  std::int64_t rows = 0, columns = 0;
  const T* x = nullptr;                // [rows, columns]
  float* scale = nullptr;              // [1]
  std::uint8_t* values = nullptr;      // [rows, columns]; null: not wanted
  std::uint8_t* transposed = nullptr;  // [columns, rows]; null: not wanted
  Fp8Format format = Fp8Format::e4m3;
};

/// Same bits on host and device, whatever the order. Pointers need their element's alignment; 16
/// bytes, with rows and columns multiples of 16, are faster.
void quantize_reference(const Quantization<float>& op);
void quantize_reference(const Quantization<Bf16>& op);
void quantize_reference(const Quantization<Fp16>& op);
/// Of FoldMemory::partial.
std::int64_t quantize_partial_bytes();
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launches: quantize_scale_kernel and, unless
/// x is empty or no copy is wanted, quantize_values_kernel.
cudaError_t quantize(const Quantization<float>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t quantize(const Quantization<Bf16>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t quantize(const Quantization<Fp16>& op, const FoldMemory& memory, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
