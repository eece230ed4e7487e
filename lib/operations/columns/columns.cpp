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

void copy_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.of)) return cuda::copy_columns_of_rows(*gpu, to, from, count);
  return cpu::copy_columns_of_rows(to, from, count);
}

void add_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.of)) return cuda::add_columns_of_rows(*gpu, to, from, count);
  return cpu::add_columns_of_rows(to, from, count);
}

}  // namespace trainx::operations
