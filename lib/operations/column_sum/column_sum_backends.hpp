// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void column_sum(const Tensor& sums, const Tensor& x, bool accumulate);
}  // namespace cpu

namespace cuda {
void column_sum(const Gpu& gpu, const Tensor& sums, const Tensor& x, bool accumulate);
}  // namespace cuda

}  // namespace trainx::operations
