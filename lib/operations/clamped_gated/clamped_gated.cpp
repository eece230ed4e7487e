#include "operations/clamped_gated/clamped_gated.hpp"
#include "operations/clamped_gated/clamped_gated_backends.hpp"
#include "operations/common/dispatch.hpp"

namespace trainx::operations {

void clamped_gated(const ClampedGated& g, const Tensor& y, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::clamped_gated(*gpu, g, y, x);
  return cpu::clamped_gated(g, y, x);
}

void clamped_gated_backward(const ClampedGated& g, const Tensor& dx, const Tensor& dy,
                            const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx)) return cuda::clamped_gated_backward(*gpu, g, dx, dy, x);
  return cpu::clamped_gated_backward(g, dx, dy, x);
}

}  // namespace trainx::operations
