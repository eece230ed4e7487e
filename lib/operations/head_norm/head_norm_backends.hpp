// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/head_norm/head_norm.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void head_norm(const HeadNorm& n, const HeadNormed& to, const Tensor& x,
               const HeadNormWeights& weights);
void head_norm_backward(const HeadNorm& n, const Tensor& dx, const HeadNormWeights& gradients,
                        const Tensor& dy, const Tensor& x, const HeadNormed& of,
                        const HeadNormWeights& weights, bool accumulate);
}  // namespace cpu

namespace cuda {
void head_norm(const Gpu& gpu, const HeadNorm& n, const HeadNormed& to, const Tensor& x,
               const HeadNormWeights& weights);
void head_norm_backward(const Gpu& gpu, const HeadNorm& n, const Tensor& dx,
                        const HeadNormWeights& gradients, const Tensor& dy, const Tensor& x,
                        const HeadNormed& of, const HeadNormWeights& weights, bool accumulate);
}  // namespace cuda

}  // namespace trainx::operations
