#include "ops/cuda/launch.hpp"

namespace trainx::ops::cuda {

using gpu::GemmEpilogue;

namespace {

void multiply(const Gpu& gpu, const gpu::GemmProblem& p, const gpu::GemmOperands& o) {
  gpu.gemm->run(p, o, gpu.space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

}  // namespace

void linear(const Gpu& gpu, const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  auto p = gpu::linear_problem(x.size(0), weight.size(0), x.size(1), type_of(x), bias.defined() ? GemmEpilogue::bias : GemmEpilogue::none);
  gpu::GemmOperands o;
  o.a = x.const_data_ptr();
  o.b = weight.const_data_ptr();
  o.d = y.data_ptr();
  o.bias = pointer<void>(bias);
  multiply(gpu, p, o);
}

void linear_backward_input(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& dy, const at::Tensor& weight) {
  gpu::GemmOperands o;
  o.a = dy.const_data_ptr();
  o.b = weight.const_data_ptr();
  o.d = dx.data_ptr();
  multiply(gpu, gpu::linear_input_gradient_problem(dy.size(0), dy.size(1), weight.size(1), type_of(dy)), o);
}

void linear_backward_weight(const Gpu& gpu, const at::Tensor& d_weight, const at::Tensor& dy, const at::Tensor& x, bool accumulate) {
  auto p = gpu::linear_weight_gradient_problem(dy.size(0), dy.size(1), x.size(1), type_of(dy));
  p.accumulate = accumulate;
  gpu::GemmOperands o;
  o.a = dy.const_data_ptr();
  o.b = x.const_data_ptr();
  o.d = d_weight.data_ptr();
  multiply(gpu, p, o);
}

}  // namespace trainx::ops::cuda
