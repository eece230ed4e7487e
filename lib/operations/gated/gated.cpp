#include "operations/gated/gated.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/gated/gated_backends.hpp"

namespace trainx::operations {

void gated(Activation f, const Tensor& y, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::gated(*gpu, f, y, x);
  return cpu::gated(f, y, x);
}

void gated_backward(Activation f, const Tensor& dx, const Tensor& dy, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx)) return cuda::gated_backward(*gpu, f, dx, dy, x);
  return cpu::gated_backward(f, dx, dy, x);
}

}  // namespace trainx::operations
