#include "operations/columns/columns.hpp"
#include "operations/columns/columns_backends.hpp"
#include "operations/common/dispatch.hpp"

namespace trainx::operations {

void take_columns(const Tensor& y, const Tensor& x, std::int64_t first) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::take_columns(*gpu, y, x, first);
  return cpu::take_columns(y, x, first);
}

void take_columns_backward(const Tensor& dx, const Tensor& dy, std::int64_t first,
                           const Tensor& addend) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::take_columns_backward(*gpu, dx, dy, first, addend);
  return cpu::take_columns_backward(dx, dy, first, addend);
}

}  // namespace trainx::operations
