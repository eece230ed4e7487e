#include "core/error.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/common/issued_gemms.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

namespace trainx::operations {

using tensor::torch_view;

namespace {

/// x in f32, cast into elements [first, first + x.numel()) of `scratch` unless it is.
at::Tensor as_float(const Tensor& x, const Tensor& scratch, std::int64_t first) {
  if (x.dtype == DType::f32) return torch_view(x);
  if (!scratch.defined() || scratch.numel() < first + x.numel())
    throw InternalError("linear_backward_weight: no room for the cast operands");
  at::Tensor cast = torch_view(scratch.view({-1}).narrow(0, first, x.numel()).view(x.dims));
  cast.copy_(torch_view(x));
  return cast;
}

}  // namespace

void cpu::linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(x.size(0), weight.size(0), x.size(1));
  at::Tensor out = torch_view(y);
  if (bias.defined())
    at::addmm_out(out, torch_view(bias), torch_view(x), torch_view(weight).t());
  else
    at::mm_out(out, torch_view(x), torch_view(weight).t());
}

void cpu::linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                const Tensor& sum) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(dy.size(0), weight.size(1), dy.size(1));
  at::Tensor out = torch_view(dx);
  if (sum.defined())
    at::addmm_out(out, torch_view(sum), torch_view(dy), torch_view(weight));
  else
    at::mm_out(out, torch_view(dy), torch_view(weight));
}

void cpu::linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                                 bool accumulate, const Tensor& cast) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(dy.size(1), x.size(1), x.size(0));
  const at::Tensor left = as_float(dy, cast, 0), right = as_float(x, cast, dy.numel());
  at::Tensor out = torch_view(d_weight);
  if (accumulate)
    at::addmm_out(out, out, left.t(), right);
  else
    at::mm_out(out, left.t(), right);
}

}  // namespace trainx::operations
