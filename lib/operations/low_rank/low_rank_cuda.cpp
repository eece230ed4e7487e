#include "gpu/own_gemm.hpp"
#include "kernels/rows/columns.hpp"
#include "operations/common/launch.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/linear/product_ways.hpp"
#include "operations/low_rank/low_rank_backends.hpp"
#include <algorithm>
#include <initializer_list>

namespace trainx::operations::cuda {

namespace {

gpu::GemmProblem with_strides(const Gpu& gpu, gpu::GemmProblem p, const Tensor& d, const Tensor& a,
                              const Tensor& b) {
  p.lda = a.strides[0];
  p.ldb = b.strides[0];
  p.ldd = d.strides[0];
  p.tf32 = gpu.tf32 && p.operands == DType::f32;
  return p;
}

/// A and B: left and right in memory; `d`'s rows and those of `c` are as far apart.
void multiply_rows(const Gpu& gpu, const gpu::GemmProblem& of, const Tensor& d, const Tensor& a,
                   const Tensor& b, double scale, const Tensor& c) {
  const auto p = with_strides(gpu, of, d, a, b);
  gpu::GemmOperands o;
  o.a = a.data;
  o.b = b.data;
  o.d = d.data;
  o.c = pointer<void>(c);
  o.scale = static_cast<float>(scale);
  gpu.gemm->run(p, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

/// Is it what own kernels take for one of the products that they add?
bool is_addable(const gpu::AddedGemm& p) {
  return p.k % 8 == 0 && p.lda % 8 == 0 && p.first % 8 == 0 && p.width % 8 == 0 &&
         is_aligned16(p.a) && is_aligned16(p.b);
}

/// `fused`: the product, with a depth of those that are added. Launches it if the kernel takes all
/// that, and no other way is known to be faster: `apart` are its products. False: it did not.
bool multiplied_at_once(const Gpu& gpu, gpu::GemmProblem fused, gpu::GemmOperands o,
                        std::vector<gpu::GemmProblem> apart) {
  const int capability = gpu.attention ? gpu.attention->compute_capability() : 0;
  if (std::ssize(o.added) > gpu::most_added_gemms || !std::ranges::all_of(o.added, is_addable) ||
      !gpu::has_own_gemm(fused, capability, gpu.gemm_space.workspace_bytes) ||
      !std::ranges::all_of(std::initializer_list<const void*>{o.a, o.b, o.d, o.bias}, is_aligned16))
    return false;
  fused.own = true;
  const Way ways[] = {{{fused}}, {std::move(apart)}};
  if (&fastest(gpu, ways) != &ways[0]) return false;
  gpu.gemm->run(fused, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(fused));
  return true;
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

void summed_linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& weight,
                   const Tensor& bias, std::span<const AddedColumns> added) {
  auto fused =
      gpu::linear_problem(x.size(0), weight.size(0), x.size(1), x.dtype,
                          bias.defined() ? gpu::GemmEpilogue::bias : gpu::GemmEpilogue::none);
  std::vector<gpu::GemmProblem> apart{fused};
  gpu::GemmOperands o;
  o.a = x.data, o.b = weight.data, o.d = y.data, o.bias = pointer<void>(bias);
  for (const AddedColumns& p : added) {
    const std::int64_t width = p.b.size(0), rank = p.b.size(1);
    fused.added_k = std::max(fused.added_k, rank);
    o.added.push_back({p.narrow.data, p.narrow.strides[0], p.b.data, rank, p.first, width});
    auto alone = gpu::linear_problem(x.size(0), width, rank, x.dtype);
    alone.accumulate = true;
    apart.push_back(with_strides(gpu, alone, y, p.narrow, p.b));
  }
  if (multiplied_at_once(gpu, fused, std::move(o), std::move(apart))) return;
  linear(gpu, y, x, weight, bias);
  add_apart(y, added);
}

void summed_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                  const Tensor& weight, const Tensor& d_narrow, const Tensor& a,
                                  const Tensor& sum) {
  const auto problem = [&](const Tensor& left, const Tensor& right) {
    return gpu::linear_input_gradient_problem(left.size(0), left.size(1), right.size(1),
                                              left.dtype);
  };
  auto fused = problem(dy, weight), second = fused, first = problem(d_narrow, a);
  fused.added_k = a.size(0);
  second.accumulate = true;
  gpu::GemmOperands o;
  o.a = dy.data, o.b = weight.data, o.d = dx.data;
  o.added = {{d_narrow.data, d_narrow.strides[0], a.data, a.size(0), 0, a.size(1)}};
  if (!sum.defined() && multiplied_at_once(gpu, fused, std::move(o), {first, second})) return;
  scaled_linear_backward_input(gpu, dx, d_narrow, a, 1, sum);
  linear_backward_input(gpu, dx, dy, weight, dx);
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
