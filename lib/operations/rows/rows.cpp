#include "operations/rows/rows.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/rows/rows_backends.hpp"

namespace trainx::operations {

void clear(const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(x)) return cuda::clear(*gpu, x);
  return cpu::clear(x);
}

void first_rows(const Tensor& rows, std::int64_t length) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(rows)) return cuda::first_rows(*gpu, rows, length);
  return cpu::first_rows(rows, length);
}

std::int64_t select_targets(const Tensor& rows, const Tensor& row_targets, const Tensor& targets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(rows))
      return cuda::select_targets(*gpu, rows, row_targets, targets);
  return cpu::select_targets(rows, row_targets, targets);
}

void scatter_rows(const Tensor& to, const Tensor& from, const Tensor& rows) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::scatter_rows(*gpu, to, from, rows);
  return cpu::scatter_rows(to, from, rows);
}

}  // namespace trainx::operations
