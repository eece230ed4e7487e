#include "operations/common/launch.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/activation/activation_backends.hpp"
#include "operations/linear/linear_backends.hpp"

namespace trainx::operations::cuda {

using gpu::GemmEpilogue;

namespace {

gpu::GemmProblem as_computed(const Gpu& gpu, gpu::GemmProblem p) {
  p.tf32 = gpu.tf32 && p.operands == DType::f32;
  return p;
}

void multiply(const Gpu& gpu, const gpu::GemmProblem& problem, const gpu::GemmOperands& o) {
  const auto p = as_computed(gpu, problem);
  gpu.gemm->run(p, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

/// Does the product with an epilogue, and what is left to do beside it, take less time than the
/// plain one and a kernel? `*_bytes`: what either moves beside the products. Where both are not
/// known yet they are to be measured, and it does not.
bool pays(const Gpu& gpu, const gpu::GemmProblem& epilogue, std::int64_t with_bytes,
          const gpu::GemmProblem& plain, std::int64_t without_bytes) {
  const auto with = as_computed(gpu, epilogue), without = as_computed(gpu, plain);
  // a step's bits do not depend on what was measured
  if (gpu.deterministic) return false;
  gpu.gemm->consider(with);
  gpu.gemm->consider(without);
  const auto with_ms = gpu.gemm->tuned_ms(with), without_ms = gpu.gemm->tuned_ms(without);
  // of the kernels of GELU and of column sums on an H200
  constexpr double bytes_per_ms = 3.5e9;
  return with_ms && without_ms &&
         *with_ms + static_cast<double>(with_bytes) / bytes_per_ms <
             *without_ms + static_cast<double>(without_bytes) / bytes_per_ms;
}

}  // namespace

void linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& weight,
            const Tensor& bias) {
  auto p = gpu::linear_problem(x.size(0), weight.size(0), x.size(1), x.dtype,
                               bias.defined() ? GemmEpilogue::bias : GemmEpilogue::none);
  gpu::GemmOperands o;
  o.a = x.data;
  o.b = weight.data;
  o.d = y.data;
  o.bias = pointer<void>(bias);
  multiply(gpu, p, o);
}

void linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy, const Tensor& weight,
                           const Tensor& sum) {
  auto p = gpu::linear_input_gradient_problem(dy.size(0), dy.size(1), weight.size(1), dy.dtype);
  p.accumulate = sum.defined();
  gpu::GemmOperands o;
  o.a = dy.data;
  o.b = weight.data;
  o.d = dx.data;
  o.c = pointer<void>(sum);
  multiply(gpu, p, o);
}

void linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Tensor& dy,
                            const Tensor& x, bool accumulate) {
  auto p = gpu::linear_weight_gradient_problem(dy.size(0), dy.size(1), x.size(1), dy.dtype);
  p.accumulate = accumulate;
  gpu::GemmOperands o;
  o.a = dy.data;
  o.b = x.data;
  o.d = d_weight.data;
  multiply(gpu, p, o);
}

void linear_gelu(const Gpu& gpu, const Tensor& activated, const Tensor& preactivation,
                 const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto fused = gpu::linear_problem(x.size(0), weight.size(0), x.size(1), x.dtype,
                                         GemmEpilogue::bias_gelu_tanh);
  const auto plain =
      gpu::linear_problem(x.size(0), weight.size(0), x.size(1), x.dtype, GemmEpilogue::bias);
  const auto bytes = static_cast<std::int64_t>(activated.nbytes());
  if (weight.size(0) % 8 != 0 || !pays(gpu, fused, 0, plain, 2 * bytes)) {
    linear(gpu, preactivation, x, weight, bias);
    return gelu(gpu, activated, preactivation);
  }
  gpu::GemmOperands o;
  o.a = x.data;
  o.b = weight.data;
  o.d = activated.data;
  o.bias = bias.data;
  o.aux = preactivation.data;
  multiply(gpu, fused, o);
}

void linear_gelu_backward(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                          const Tensor& weight, const Tensor& x, bool accumulate) {
  auto fused = gpu::linear_input_gradient_problem(dy.size(0), dy.size(1), weight.size(1), dy.dtype);
  const auto plain = fused;
  fused.epilogue = GemmEpilogue::gelu_tanh_grad;
  const auto bytes = static_cast<std::int64_t>(dx.nbytes());
  if (weight.size(1) % 8 != 0 || !pays(gpu, fused, bytes, plain, 3 * bytes)) {
    linear_backward_input(gpu, dx, dy, weight, {});
    return gelu_backward_with_bias(gpu, dx, d_bias, dx, x, accumulate);
  }
  gpu::GemmOperands o;
  o.a = dy.data;
  o.b = weight.data;
  o.d = dx.data;
  o.aux = const_cast<void*>(x.data);
  multiply(gpu, fused, o);
  column_sum(gpu, d_bias, dx, accumulate);
}

}  // namespace trainx::operations::cuda
