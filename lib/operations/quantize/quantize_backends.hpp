// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/quantize/quantize.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how);
/// to (f32) = values, without their scale.
void widen(const Tensor& to, const Fp8Tensor& from);
}  // namespace cpu

namespace cuda {
void quantize(const Gpu& gpu, const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how);
}  // namespace cuda

}  // namespace trainx::operations
