// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/mean_pool/mean_pool.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void mean_pool(const Tensor& out, const Tensor& x, const Tensor& lengths);
void mean_pool_backward(const Tensor& dx, const Tensor& d_out, const Tensor& lengths);
}  // namespace cpu

namespace cuda {
void mean_pool(const Gpu& gpu, const Tensor& out, const Tensor& x, const Tensor& lengths);
void mean_pool_backward(const Gpu& gpu, const Tensor& dx, const Tensor& d_out,
                        const Tensor& lengths);
}  // namespace cuda

}  // namespace trainx::operations
