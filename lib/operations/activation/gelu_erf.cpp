#include "operations/activation/gelu.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/activation/activation_backends.hpp"

namespace trainx::operations {

void gelu_erf(const Tensor& activated, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(activated)) return cuda::gelu_erf(*gpu, activated, x);
  return cpu::gelu_erf(activated, x);
}

void gelu_erf_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                                 const Tensor& x, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::gelu_erf_backward_with_bias(*gpu, dx, d_bias, d_activated, x, accumulate);
  return cpu::gelu_erf_backward_with_bias(dx, d_bias, d_activated, x, accumulate);
}

}  // namespace trainx::operations
