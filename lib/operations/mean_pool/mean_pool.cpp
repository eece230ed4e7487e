#include "operations/mean_pool/mean_pool.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/mean_pool/mean_pool_backends.hpp"

namespace trainx::operations {

void mean_pool(const Tensor& out, const Tensor& x, const Tensor& lengths) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(out)) return cuda::mean_pool(*gpu, out, x, lengths);
  return cpu::mean_pool(out, x, lengths);
}

void mean_pool_backward(const Tensor& dx, const Tensor& d_out, const Tensor& lengths) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx)) return cuda::mean_pool_backward(*gpu, dx, d_out, lengths);
  return cpu::mean_pool_backward(dx, d_out, lengths);
}

}  // namespace trainx::operations
