#include "operations/low_rank/low_rank.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/low_rank/low_rank_backends.hpp"

namespace trainx::operations {

void scaled_linear(const Tensor& y, const Tensor& x, const Tensor& w, double scale,
                   const Tensor& sum) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::scaled_linear(*gpu, y, x, w, scale, sum);
  return cpu::scaled_linear(y, x, w, scale, sum);
}

void scaled_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& w, double scale,
                                  const Tensor& sum) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::scaled_linear_backward_input(*gpu, dx, dy, w, scale, sum);
  return cpu::scaled_linear_backward_input(dx, dy, w, scale, sum);
}

void scaled_linear_backward_weight(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                   bool accumulate, const Tensor& cast) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dw))
      return cuda::scaled_linear_backward_weight(*gpu, dw, dy, x, accumulate);
  return cpu::linear_backward_weight(dw, dy, x, accumulate, cast);
}

void add_rows(const Tensor& to, const Tensor& sum, const Tensor& x) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::add_rows(*gpu, to, sum, x);
  return cpu::add_rows(to, sum, x);
}

void copy_columns(const Tensor& to, const Tensor& from) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::copy_columns(*gpu, to, from);
  return cpu::copy_columns(to, from);
}

}  // namespace trainx::operations
