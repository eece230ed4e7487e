#include "operations/quantize/quantize.hpp"
#include "core/error.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/quantize/quantize_backends.hpp"

namespace trainx::operations {

void quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(x)) return cuda::quantize(*gpu, to, x, how);
  return cpu::quantize(to, x, how);
}

void transpose_fp8(const Tensor& to, const Tensor& values) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(values)) return cuda::transpose_fp8(*gpu, to, values);
  throw InternalError("transpose_fp8: products of a CPU read weights as they are");
}

}  // namespace trainx::operations
