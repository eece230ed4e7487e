#include "operations/common/issued_gemms.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/low_rank/low_rank_backends.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>

namespace trainx::operations::cpu {

using tensor::torch_view;

namespace {

/// out = scale * left right + sum.
void multiply(const Tensor& out, const at::Tensor& left, const at::Tensor& right, double scale,
              const Tensor& sum) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(left.size(0), right.size(1), left.size(1));
  at::Tensor to = torch_view(out);
  // what lies there is not read with a factor of 0
  at::addmm_out(to, sum.defined() ? torch_view(sum) : to, left, right, sum.defined() ? 1 : 0,
                scale);
}

}  // namespace

void scaled_linear(const Tensor& y, const Tensor& x, const Tensor& w, double scale,
                   const Tensor& sum) {
  multiply(y, torch_view(x), torch_view(w).t(), scale, sum);
}

void scaled_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& w, double scale,
                                  const Tensor& sum) {
  multiply(dx, torch_view(dy), torch_view(w), scale, sum);
}

void add_rows(const Tensor& to, const Tensor& sum, const Tensor& x) {
  if (!sum.defined()) return copy_columns(to, x);
  const TimedWork timed(Work::norm);
  at::Tensor out = torch_view(to);
  at::add_out(out, torch_view(sum), torch_view(x));
}

void copy_columns(const Tensor& to, const Tensor& from) {
  const TimedWork timed(Work::norm);
  torch_view(to).copy_(torch_view(from));
}

}  // namespace trainx::operations::cpu
