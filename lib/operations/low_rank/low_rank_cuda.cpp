#include "kernels/rows/columns.hpp"
#include "operations/common/launch.hpp"
#include "operations/low_rank/low_rank_backends.hpp"

namespace trainx::operations::cuda {

namespace {

/// A and B: left and right in memory; `d`'s rows and those of `c` are as far apart.
void multiply_rows(const Gpu& gpu, gpu::GemmProblem p, const Tensor& d, const Tensor& a,
                   const Tensor& b, double scale, const Tensor& c) {
  p.lda = a.strides[0];
  p.ldb = b.strides[0];
  p.ldd = d.strides[0];
  p.tf32 = gpu.tf32 && p.operands == DType::f32;
  gpu::GemmOperands o;
  o.a = a.data;
  o.b = b.data;
  o.d = d.data;
  o.c = pointer<void>(c);
  o.scale = static_cast<float>(scale);
  gpu.gemm->run(p, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

}  // namespace

void scaled_linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& w, double scale,
                   const Tensor& sum) {
  auto p = gpu::linear_problem(x.size(0), w.size(0), x.size(1), x.dtype);
  p.accumulate = sum.defined();
  multiply_rows(gpu, p, y, x, w, scale, sum);
}

void scaled_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                  const Tensor& w, double scale, const Tensor& sum) {
  auto p = gpu::linear_input_gradient_problem(dy.size(0), dy.size(1), w.size(1), dy.dtype);
  p.accumulate = sum.defined();
  multiply_rows(gpu, p, dx, dy, w, scale, sum);
}

void scaled_linear_backward_weight(const Gpu& gpu, const Tensor& dw, const Tensor& dy,
                                   const Tensor& x, bool accumulate) {
  auto p = gpu::linear_weight_gradient_problem(dy.size(0), dy.size(1), x.size(1), dy.dtype);
  p.accumulate = accumulate;
  multiply_rows(gpu, p, dw, dy, x, 1, {});
}

void add_rows(const Gpu& gpu, const Tensor& to, const Tensor& sum, const Tensor& x) {
  with_kernel_element(to, [&]<class T>(T) {
    const kernels::PutColumns<T> op{x.size(0),       x.size(1),     0, x.size(1), pointer<T>(x),
                                    pointer<T>(sum), pointer<T>(to)};
    gpu::require(kernels::put_columns(op, gpu.space.stream), "sums of rows");
  });
  gpu.done(Work::norm);
}

void copy_columns(const Gpu& gpu, const Tensor& to, const Tensor& from) {
  const std::int64_t columns = to.size(1);
  with_kernel_element(to, [&]<class T>(T) {
    gpu::require(kernels::copy_heads<T>({pointer<T>(to), to.strides[0], 0, columns},
                                        {pointer<T>(from), from.strides[0], 0, columns}, to.size(0),
                                        1, gpu.space.stream),
                 "columns");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
