// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "kernels/quantize/fp8_bits.hpp"
#include "operations/quantize/quantize.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

constexpr kernels::Fp8Granularity granularity_of(Fp8Granularity g) {
  switch (g) {
    case Fp8Granularity::tensor: break;
    case Fp8Granularity::vector: return kernels::Fp8Granularity::vector;
    case Fp8Granularity::block: return kernels::Fp8Granularity::block;
  }
  return kernels::Fp8Granularity::tensor;
}

namespace cpu {
void quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how);
/// to (f32) = values; times their scales, unless there is one for the tensor.
void widen(const Tensor& to, const Fp8Copy& from);
}  // namespace cpu

namespace cuda {
void quantize(const Gpu& gpu, const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how);
void transpose_fp8(const Gpu& gpu, const Tensor& to, const Tensor& values);
}  // namespace cuda

}  // namespace trainx::operations
