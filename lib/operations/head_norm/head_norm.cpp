#include "operations/head_norm/head_norm.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/head_norm/head_norm_backends.hpp"

namespace trainx::operations {

void head_norm(const HeadNorm& n, const HeadNormed& to, const Tensor& x,
               const HeadNormWeights& weights) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(x)) return cuda::head_norm(*gpu, n, to, x, weights);
  return cpu::head_norm(n, to, x, weights);
}

void head_norm_backward(const HeadNorm& n, const Tensor& dx, const HeadNormWeights& gradients,
                        const Tensor& dy, const Tensor& x, const HeadNormed& of,
                        const HeadNormWeights& weights, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::head_norm_backward(*gpu, n, dx, gradients, dy, x, of, weights, accumulate);
  return cpu::head_norm_backward(n, dx, gradients, dy, x, of, weights, accumulate);
}

}  // namespace trainx::operations
