#include "ops/dropout.hpp"
#include "ops/dispatch.hpp"

namespace trainx::ops {

void drop_out(const Tensor& result, const Tensor& x, const Dropout& dropout) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(result)) return cuda::drop_out(*gpu, result, x, dropout);
  return cpu::drop_out(result, x, dropout);
}

}  // namespace trainx::ops
