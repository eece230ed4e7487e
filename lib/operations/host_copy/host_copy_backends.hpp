// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void copy_in(const Tensor& to, const void* from);
void copy_out(void* to, const Tensor& from);
}  // namespace cpu

namespace cuda {
void copy_in(const Gpu& gpu, const Tensor& to, const void* from);
void copy_out(const Gpu& gpu, void* to, const Tensor& from);
}  // namespace cuda

}  // namespace trainx::operations
