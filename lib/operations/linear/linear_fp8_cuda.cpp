#include "operations/common/launch.hpp"
#include "operations/linear/linear_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::Fp8Format format_of(const Fp8Tensor& t) {
  return t.format == Fp8::e4m3 ? kernels::Fp8Format::e4m3 : kernels::Fp8Format::e5m2;
}

const void* copy_of(const Tensor& copy) {
  if (!copy.defined()) throw InternalError("a product in fp8 of a copy that was not made");
  return copy.data;
}

/// d = a b^T of copies [m, k] and [n, k].
void multiply(const Gpu& gpu, gpu::GemmProblem p, const Fp8Tensor& a, const Tensor& a_copy,
              const Fp8Tensor& b, const Tensor& b_copy, gpu::GemmOperands o) {
  p.a_format = format_of(a);
  p.b_format = format_of(b);
  o.a = copy_of(a_copy);
  o.b = copy_of(b_copy);
  o.a_scale = pointer<const float>(a.scale);
  o.b_scale = pointer<const float>(b.scale);
  gpu.gemm->run(p, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

}  // namespace

void fp8_linear(const Gpu& gpu, const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight,
                const Tensor& bias) {
  auto p = gpu::fp8_problem(y.size(0), y.size(1), x.values.size(1), y.dtype);
  p.fast_sums = true;
  if (bias.defined()) p.epilogue = gpu::GemmEpilogue::bias;
  gpu::GemmOperands o;
  o.d = y.data;
  o.bias = pointer<void>(bias);
  multiply(gpu, p, x, x.values, weight, weight.values, o);
}

void fp8_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Fp8Tensor& dy,
                               const Fp8Tensor& weight, const Tensor& sum) {
  auto p = gpu::fp8_problem(dx.size(0), dx.size(1), dy.values.size(1), dx.dtype);
  p.accumulate = sum.defined();
  gpu::GemmOperands o;
  o.d = dx.data;
  o.c = pointer<void>(sum);
  multiply(gpu, p, dy, dy.values, weight, weight.transposed, o);
}

void fp8_linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Fp8Tensor& dy,
                                const Fp8Tensor& x, bool accumulate) {
  auto p = gpu::fp8_problem(d_weight.size(0), d_weight.size(1), dy.transposed.size(1), DType::f32);
  p.accumulate = accumulate;
  gpu::GemmOperands o;
  o.d = d_weight.data;
  multiply(gpu, p, dy, dy.transposed, x, x.transposed, o);
}

}  // namespace trainx::operations::cuda
