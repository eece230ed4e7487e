// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/rotary/rotary.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void rotate(const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
            std::int64_t past);
void rotate_backward(const Rotary& r, const Tensor& dx, const Tensor& dy, const Tensor& x,
                     const Tensor& starts);
}  // namespace cpu

namespace cuda {
void rotate(const Gpu& gpu, const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
            std::int64_t past);
void rotate_backward(const Gpu& gpu, const Rotary& r, const Tensor& dx, const Tensor& dy,
                     const Tensor& x, const Tensor& starts);
}  // namespace cuda

}  // namespace trainx::operations
