// The halves of these operations: on tensors of the host, and of a GPU. They compute what the
// contracts say; the dispatchers choose.
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
