#include "operations/linear/linear_fp8.hpp"
#include "core/error.hpp"
#include "operations/linear/linear_backends.hpp"

namespace trainx::operations {
namespace {

void require_host(const Tensor& t) {
  if (t.place != Place::host) throw InternalError("a product in fp8 on a GPU");
}

}  // namespace

void fp8_linear(const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight, const Tensor& bias,
                const Tensor& wide) {
  require_host(y);
  return cpu::fp8_linear(y, x, weight, bias, wide);
}

void fp8_linear_backward_input(const Tensor& dx, const Fp8Tensor& dy, const Fp8Tensor& weight,
                               const Tensor& sum, const Tensor& wide) {
  require_host(dx);
  return cpu::fp8_linear_backward_input(dx, dy, weight, sum, wide);
}

void fp8_linear_backward_weight(const Tensor& d_weight, const Fp8Tensor& dy, const Fp8Tensor& x,
                                bool accumulate, const Tensor& wide) {
  require_host(d_weight);
  return cpu::fp8_linear_backward_weight(d_weight, dy, x, accumulate, wide);
}

}  // namespace trainx::operations
