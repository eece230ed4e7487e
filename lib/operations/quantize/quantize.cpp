#include "operations/quantize/quantize.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/quantize/quantize_backends.hpp"

namespace trainx::operations {

void quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(x)) return cuda::quantize(*gpu, to, x, how);
  return cpu::quantize(to, x, how);
}

}  // namespace trainx::operations
