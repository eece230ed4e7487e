#include "operations/low_rank/low_rank.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/linear/linear.hpp"
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

void summed_linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   std::span<const AddedColumns> added) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::summed_linear(*gpu, y, x, weight, bias, added);
  linear(y, x, weight, bias);
  add_apart(y, added);
}

void summed_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                  const Tensor& d_narrow, const Tensor& a, const Tensor& sum) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::summed_linear_backward_input(*gpu, dx, dy, weight, d_narrow, a, sum);
  scaled_linear_backward_input(dx, d_narrow, a, 1, sum);
  linear_backward_input(dx, dy, weight, dx);
}

void add_apart(const Tensor& y, std::span<const AddedColumns> added) {
  for (const AddedColumns& p : added) {
    const Tensor columns = y.narrow(1, p.first, p.b.size(0));
    scaled_linear(columns, p.narrow, p.b, 1, columns);
  }
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
