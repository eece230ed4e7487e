// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/clamped_gated/clamped_gated.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void clamped_gated(const ClampedGated& g, const Tensor& y, const Tensor& x);
void clamped_gated_backward(const ClampedGated& g, const Tensor& dx, const Tensor& dy,
                            const Tensor& x);
}  // namespace cpu

namespace cuda {
void clamped_gated(const Gpu& gpu, const ClampedGated& g, const Tensor& y, const Tensor& x);
void clamped_gated_backward(const Gpu& gpu, const ClampedGated& g, const Tensor& dx,
                            const Tensor& dy, const Tensor& x);
}  // namespace cuda

}  // namespace trainx::operations
