#include "core/error.hpp"
#include "ops/issued_gemms.hpp"
#include "ops/linear.hpp"
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include "ops/gpu_scope.hpp"
#include "ops/timed_work.hpp"
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

namespace {

/// Casts `x` to f32 into elements [first, first + x.numel()) of `scratch`, unless it is f32.
at::Tensor as_float(const at::Tensor& x, const at::Tensor& scratch, std::int64_t first) {
  if (x.scalar_type() == at::kFloat) return x;
  if (!scratch.defined() || scratch.numel() < first + x.numel())
    throw InternalError("linear_backward_weight: no room for the cast operands");
  const at::Tensor cast = scratch.flatten().narrow(0, first, x.numel()).view(x.sizes());
  cast.copy_(x);
  return cast;
}

}  // namespace

void linear(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
            const at::Tensor& bias) {
  TRAINX_ON_GPU(linear(*gpu, y, x, weight, bias));
  const TimedWork timed(Work::matrix_product);
  note_gemm(x.size(0), weight.size(0), x.size(1));
  at::Tensor out = y;
  if (bias.defined())
    at::addmm_out(out, bias, x, weight.t());
  else
    at::mm_out(out, x, weight.t());
}

void linear_backward_input(const at::Tensor& dx, const at::Tensor& dy, const at::Tensor& weight,
                           const at::Tensor& sum) {
  TRAINX_ON_GPU(linear_backward_input(*gpu, dx, dy, weight, sum));
  const TimedWork timed(Work::matrix_product);
  note_gemm(dy.size(0), weight.size(1), dy.size(1));
  at::Tensor out = dx;
  if (sum.defined())
    at::addmm_out(out, sum, dy, weight);
  else
    at::mm_out(out, dy, weight);
}

void linear_backward_weight(const at::Tensor& d_weight, const at::Tensor& dy, const at::Tensor& x,
                            bool accumulate, const at::Tensor& cast) {
  TRAINX_ON_GPU(linear_backward_weight(*gpu, d_weight, dy, x, accumulate));
  const TimedWork timed(Work::matrix_product);
  note_gemm(dy.size(1), x.size(1), x.size(0));
  const at::Tensor left = as_float(dy, cast, 0), right = as_float(x, cast, dy.numel());
  at::Tensor out = d_weight;
  if (accumulate)
    at::addmm_out(out, out, left.t(), right);
  else
    at::mm_out(out, left.t(), right);
}

}  // namespace trainx::ops
