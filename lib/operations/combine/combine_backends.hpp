// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/combine/combine.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void combine(const Tensor& y, const CombineParts& of);
void combine_backward(const CombineParts& to, const Tensor& dy, const CombineParts& of);
}  // namespace cpu

namespace cuda {
void combine(const Gpu& gpu, const Tensor& y, const CombineParts& of);
void combine_backward(const Gpu& gpu, const CombineParts& to, const Tensor& dy,
                      const CombineParts& of);
}  // namespace cuda

}  // namespace trainx::operations
