// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/dropout/dropout.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void drop_out(const Tensor& result, const Tensor& x, const Dropout& dropout);
}  // namespace cpu

namespace cuda {
void drop_out(const Gpu& gpu, const Tensor& out, const Tensor& x, const Dropout& dropout);
}  // namespace cuda

}  // namespace trainx::operations
