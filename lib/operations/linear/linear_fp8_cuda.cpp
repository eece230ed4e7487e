#include "operations/common/launch.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/quantize/quantize_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::Fp8Format format_of(const Fp8Copy& t) {
  return t.format == Fp8::e4m3 ? kernels::Fp8Format::e4m3 : kernels::Fp8Format::e5m2;
}

const void* values_of(const Fp8Copy& copy) {
  if (!copy.values.defined() || !copy.scale.defined())
    throw InternalError("a product in fp8 of a copy that was not made");
  return copy.values.data;
}

/// d = a b^T of copies [m, k] and [n, k].
void multiply(const Gpu& gpu, gpu::GemmProblem p, const Fp8Copy& a, const Fp8Copy& b,
              gpu::GemmOperands o) {
  p.a_format = format_of(a);
  p.b_format = format_of(b);
  p.a_scales = granularity_of(a.granularity);
  p.b_scales = granularity_of(b.granularity);
  o.a = values_of(a);
  o.b = values_of(b);
  o.a_scale = pointer<const float>(a.scale);
  o.b_scale = pointer<const float>(b.scale);
  gpu.gemm->run(p, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

}  // namespace

void fp8_linear(const Gpu& gpu, const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight,
                const Tensor& bias) {
  auto p = gpu::fp8_problem(y.size(0), y.size(1), x.values.size(1), y.dtype);
  p.fast_sums = x.granularity == Fp8Granularity::tensor;
  if (bias.defined()) p.epilogue = gpu::GemmEpilogue::bias;
  gpu::GemmOperands o;
  o.d = y.data;
  o.bias = pointer<void>(bias);
  multiply(gpu, p, x.by_rows(), weight.by_rows(), o);
}

void fp8_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Fp8Tensor& dy,
                               const Fp8Tensor& weight, const Tensor& sum) {
  auto p = gpu::fp8_problem(dx.size(0), dx.size(1), dy.values.size(1), dx.dtype);
  p.accumulate = sum.defined();
  gpu::GemmOperands o;
  o.d = dx.data;
  o.c = pointer<void>(sum);
  multiply(gpu, p, dy.by_rows(), weight.by_columns(), o);
}

void fp8_linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Fp8Tensor& dy,
                                const Fp8Tensor& x, bool accumulate) {
  auto p = gpu::fp8_problem(d_weight.size(0), d_weight.size(1), dy.transposed.size(1), DType::f32);
  p.accumulate = accumulate;
  gpu::GemmOperands o;
  o.d = d_weight.data;
  multiply(gpu, p, dy.by_columns(), x.by_columns(), o);
}

}  // namespace trainx::operations::cuda
