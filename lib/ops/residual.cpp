#include "ops/residual.hpp"
#include "ops/dispatch.hpp"

namespace trainx::ops {

void scatter_rows(const Tensor& to, const Tensor& from, const Tensor& rows) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::scatter_rows(*gpu, to, from, rows);
  return cpu::scatter_rows(to, from, rows);
}

}  // namespace trainx::ops
