#include "operations/activation/tanh.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/activation/activation_backends.hpp"

namespace trainx::operations {

void tanh(const Tensor& y, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::tanh(*gpu, y, x);
  return cpu::tanh(y, x);
}

void tanh_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                             const Tensor& y, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::tanh_backward_with_bias(*gpu, dx, d_bias, dy, y, accumulate);
  return cpu::tanh_backward_with_bias(dx, d_bias, dy, y, accumulate);
}

}  // namespace trainx::operations
