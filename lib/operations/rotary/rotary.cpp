#include "operations/rotary/rotary.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/rotary/rotary_backends.hpp"

namespace trainx::operations {

void rotate(const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
            std::int64_t past) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::rotate(*gpu, r, y, x, starts, past);
  return cpu::rotate(r, y, x, starts, past);
}

void rotate_backward(const Rotary& r, const Tensor& dx, const Tensor& dy, const Tensor& x,
                     const Tensor& starts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx)) return cuda::rotate_backward(*gpu, r, dx, dy, x, starts);
  return cpu::rotate_backward(r, dx, dy, x, starts);
}

}  // namespace trainx::operations
