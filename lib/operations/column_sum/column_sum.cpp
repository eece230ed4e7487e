#include "operations/column_sum/column_sum.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/column_sum/column_sum_backends.hpp"

namespace trainx::operations {

void column_sum(const Tensor& sums, const Tensor& x, bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(sums)) return cuda::column_sum(*gpu, sums, x, accumulate);
  return cpu::column_sum(sums, x, accumulate);
}

}  // namespace trainx::operations
