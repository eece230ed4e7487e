// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/gated/gated.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void gated(Activation f, const Tensor& y, const Tensor& x);
void gated_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& x);
}  // namespace cpu

namespace cuda {
void gated(const Gpu& gpu, Activation f, const Tensor& y, const Tensor& x);
void gated_backward(const Gpu& gpu, Activation f, const Tensor& dx, const Tensor& dy,
                    const Tensor& x);
}  // namespace cuda

}  // namespace trainx::operations
