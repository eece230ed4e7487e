#include "operations/dropout/dropout.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/dropout/dropout_backends.hpp"

namespace trainx::operations {

void drop_out(const Tensor& result, const Tensor& x, const Dropout& dropout) {
  if (!dropout && result.data == x.data) return;
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(result)) return cuda::drop_out(*gpu, result, x, dropout);
  return cpu::drop_out(result, x, dropout);
}

}  // namespace trainx::operations
