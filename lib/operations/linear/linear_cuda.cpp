#include "gpu/own_gemm.hpp"
#include "kernels/reduce/column_sum.hpp"
#include "operations/activation/activation.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/common/launch.hpp"
#include "operations/linear/linear_backends.hpp"
#include "operations/linear/product_ways.hpp"

namespace trainx::operations::cuda {

using gpu::GemmEpilogue;

namespace {

void multiply(const Gpu& gpu, const gpu::GemmProblem& problem, const gpu::GemmOperands& o) {
  const auto p = as_computed(gpu, problem);
  gpu.gemm->run(p, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(p));
}

GemmEpilogue epilogue_of(Activation f, bool backward) {
  if (f == Activation::gelu_tanh)
    return backward ? GemmEpilogue::gelu_tanh_grad : GemmEpilogue::bias_gelu_tanh;
  return backward ? GemmEpilogue::gelu_erf_grad : GemmEpilogue::bias_gelu_erf;
}

/// Ways to compute a product with a GELU in it: by an own kernel, by cuBLASLt, and apart. `plain`
/// and `fused_bytes`, `own_bytes`: what is left to do beside each.
std::vector<Way> ways_with_gelu(const Gpu& gpu, gpu::GemmProblem fused, std::int64_t own_bytes,
                                std::int64_t fused_bytes, const Way& plain, bool aligned) {
  std::vector<Way> ways;
  const int capability = gpu.attention ? gpu.attention->compute_capability() : 0;
  if (aligned && gpu::has_own_gemm(fused, capability, gpu.gemm_space.workspace_bytes)) {
    ways.push_back({{fused}, own_bytes});
    ways.back().products.front().own = true;
  }
  const bool by_library = fused.epilogue == GemmEpilogue::bias_gelu_tanh ||
                          fused.epilogue == GemmEpilogue::gelu_tanh_grad;
  if (by_library && fused.n % 8 == 0) ways.push_back({{fused}, fused_bytes});
  ways.push_back(plain);
  return ways;
}

template <class... Tensors>
bool all_aligned16(const Tensors&... tensors) {
  return (is_aligned16(tensors.data) && ...);
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

void linear_gelu(const Gpu& gpu, Activation f, const Tensor& activated, const Tensor& preactivation,
                 const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto problem = [&](GemmEpilogue epilogue) {
    return gpu::linear_problem(x.size(0), weight.size(0), x.size(1), x.dtype, epilogue);
  };
  const auto bytes = static_cast<std::int64_t>(activated.nbytes());
  const auto ways = ways_with_gelu(gpu, problem(epilogue_of(f, false)), 0, 0,
                                   {{problem(GemmEpilogue::bias)}, 2 * bytes},
                                   all_aligned16(activated, preactivation, x, weight, bias));
  const gpu::GemmProblem& chosen = fastest(gpu, ways).products.front();
  if (chosen.epilogue == GemmEpilogue::bias) {
    linear(gpu, preactivation, x, weight, bias);
    return activate(f, activated, preactivation);
  }
  gpu::GemmOperands o;
  o.a = x.data;
  o.b = weight.data;
  o.d = activated.data;
  o.bias = bias.data;
  o.aux = preactivation.data;
  multiply(gpu, chosen, o);
}

void linear_gelu_backward(const Gpu& gpu, Activation f, const Tensor& dx, const Tensor& d_bias,
                          const Tensor& dy, const Tensor& weight, const Tensor& x,
                          bool accumulate) {
  const auto plain =
      gpu::linear_input_gradient_problem(dy.size(0), dy.size(1), weight.size(1), dy.dtype);
  auto fused = plain;
  fused.epilogue = epilogue_of(f, true);
  const auto bytes = static_cast<std::int64_t>(dx.nbytes());
  const std::int64_t slabs = gpu::own_gemm_slabs(plain), columns = weight.size(1);
  const auto ways = ways_with_gelu(gpu, fused, slabs * columns * size_of(DType::f32), bytes,
                                   {{plain}, 3 * bytes}, all_aligned16(dx, dy, weight, x));
  const gpu::GemmProblem& chosen = fastest(gpu, ways).products.front();
  if (chosen.epilogue == GemmEpilogue::none) {
    linear_backward_input(gpu, dx, dy, weight, {});
    return activate_backward(f, dx, d_bias, dx, x, accumulate);
  }
  gpu::GemmOperands o;
  o.a = dy.data;
  o.b = weight.data;
  o.d = dx.data;
  o.aux = const_cast<void*>(x.data);
  // no product of cuBLASLt runs meanwhile
  if (chosen.own)
    o.column_sums = reinterpret_cast<float*>(static_cast<char*>(gpu.gemm_space.workspace) +
                                             gpu::own_gemm_sums_at(chosen));
  multiply(gpu, chosen, o);
  if (!chosen.own) return column_sum(gpu, d_bias, dx, accumulate);
  gpu::require(kernels::column_sum(kernels::ColumnSum<float>{slabs, columns, o.column_sums,
                                                             pointer<float>(d_bias), accumulate},
                                   gpu.fold, gpu.space.stream),
               "column sum");
  gpu.done(Work::sum);
}

}  // namespace trainx::operations::cuda
