// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void cast(const Tensor& to, const Tensor& from);
void add(const Tensor& to, const Tensor& from);
}  // namespace cpu

namespace cuda {
void cast(const Gpu& gpu, const Tensor& to, const Tensor& from);
void add(const Gpu& gpu, const Tensor& to, const Tensor& from);
}  // namespace cuda

}  // namespace trainx::operations
