#include "kernels/experts/router.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/common/launch.hpp"
#include "operations/router/router_backends.hpp"
#include <cuda_runtime_api.h>

namespace trainx::operations::cuda {
namespace {

kernels::RouterForm form_of(const Router& r) {
  kernels::RouterForm f;
  f.experts = static_cast<int>(r.experts);
  f.per_token = static_cast<int>(r.per_token);
  switch (r.score) {
    case Router::Score::softmax: f.score = kernels::RouterScore::softmax; break;
    case Router::Score::sigmoid: f.score = kernels::RouterScore::sigmoid; break;
    case Router::Score::chosen_softmax: f.score = kernels::RouterScore::chosen_softmax; break;
  }
  f.normalized = r.normalized;
  f.scale = static_cast<float>(r.scale);
  f.groups = static_cast<int>(r.groups);
  f.kept_groups = static_cast<int>(r.kept_groups);
  f.two_largest = r.group_score == Router::GroupScore::two_largest;
  return f;
}

/// Never in tf32: routers compute in fp32.
void route_product(const Gpu& gpu, const gpu::GemmProblem& problem, const void* a, const void* b,
                   void* d, const void* addend = nullptr) {
  gpu::GemmOperands o;
  o.a = a;
  o.b = b;
  o.d = d;
  o.c = addend;
  gpu.gemm->run(problem, o, gpu.gemm_space);
  if (gpu.timeline) gpu.done(Work::matrix_product, gpu::describe(problem));
}

void require_parts(const Tensor& room, const Tensor& x) {
  if (x.dtype != DType::f32 && !room.defined())
    throw InternalError("router: no room for gradients of logits in parts");
}

}  // namespace

// Products of 16-bit operands are exact, and sums of fp32: scores are those of operands in fp32.
void router_scores(const Gpu& gpu, const Router& r, const Tensor& scores, const Tensor& log_sums,
                   const Tensor& x, const Tensor& weight, const Tensor& bias, const RouterCasts&,
                   bool adds) {
  gpu::GemmProblem p = gpu::linear_problem(x.size(0), r.experts, x.size(1), x.dtype);
  p.accumulate = adds;
  p.result = DType::f32;
  route_product(gpu, p, x.data, weight.data, scores.data);
  if (r.score == Router::Score::chosen_softmax && !bias.defined() && !log_sums.defined()) return;
  with_kernel_element(bias.defined() ? bias : scores, [&]<class T>(T) {
    const kernels::RouterScores<T> op{form_of(r), scores.size(0), pointer<float>(scores),
                                      pointer<T>(bias), pointer<float>(log_sums)};
    gpu::require(kernels::router_scores(op, gpu.space.stream), "scores of a router");
  });
  gpu.done(Work::activation);
}

void add_router_z(const Gpu& gpu, const Tensor& z, const Tensor& before, const Tensor& log_sums) {
  const kernels::RouterZ op{log_sums.numel(), pointer<float>(log_sums), pointer<float>(before),
                            pointer<float>(z)};
  gpu::require(kernels::router_z(op, gpu.space.stream), "squares of a router's sums");
  gpu.done(Work::activation);
}

void choose_experts(const Gpu& gpu, const Router& r, const Tensor& weights, const Tensor& indices,
                    const Tensor& scores, const Tensor& correction) {
  const auto launch = [&]<class T>(T) {
    kernels::ChooseExperts<T> op;
    op.form = form_of(r);
    op.tokens = scores.size(0);
    op.scores = pointer<float>(scores);
    op.correction = pointer<T>(correction);
    op.weights = pointer<float>(weights);
    op.indices = pointer<std::int32_t>(indices);
    gpu::require(kernels::choose_experts(op, gpu.space.stream), "choice of experts");
  };
  if (correction.defined())
    with_kernel_element(correction, launch);
  else
    launch(float{});
  gpu.done(Work::activation);
}

void balance_experts(const Gpu& gpu, const Router& r, const Tensor& balanced, const Tensor& before,
                     const Tensor& scores, const Tensor& indices) {
  if (gpu.space.workspace_bytes < kernels::balance_experts_scratch_bytes(r.experts))
    throw InternalError("router: the workspace is too small for sums of scores");
  kernels::BalanceExperts op;
  op.form = form_of(r);
  op.tokens = scores.size(0);
  op.scores = pointer<float>(scores);
  op.indices = pointer<std::int32_t>(indices);
  op.before = pointer<float>(before);
  op.balanced = pointer<float>(balanced);
  gpu::require(
      kernels::balance_experts(op, static_cast<double*>(gpu.space.workspace), gpu.space.stream),
      "sums of scores of a router");
  gpu.done(Work::activation);
}

void router_scores_backward(const Gpu& gpu, const Router& r, const Tensor& d_logits,
                            const Tensor& d_weights, const Tensor& d_balanced,
                            const RouterZGradient& of_z, const Tensor& scores,
                            const Tensor& indices, const RouterCasts& casts) {
  const auto launch = [&]<class T>(T) {
    kernels::RouterBackward<T> op;
    op.form = form_of(r);
    op.tokens = scores.size(0);
    op.scores = pointer<float>(scores);
    op.indices = pointer<std::int32_t>(indices);
    op.d_weights = pointer<float>(d_weights);
    op.d_balanced = pointer<float>(d_balanced);
    op.d_logits = pointer<float>(d_logits);
    op.parts = pointer<T>(casts.parts);
    op.d_z = pointer<float>(of_z.d_z);
    op.log_sums = pointer<float>(of_z.log_sums);
    gpu::require(kernels::router_backward(op, gpu.space.stream), "scores of a router backward");
  };
  if (casts.parts.defined())
    with_kernel_element(casts.parts, launch);
  else
    launch(float{});
  gpu.done(Work::activation);
}

void router_backward_bias(const Gpu& gpu, const Tensor& d_bias, const Tensor& d_logits,
                          bool accumulate, const RouterCasts& casts) {
  if (!casts.parts.defined()) return column_sum(gpu, d_bias, d_logits, accumulate);
  if (!casts.part_sums.defined()) throw InternalError("router: no room for sums of parts");
  const Tensor sums = casts.part_sums.view({-1}).narrow(0, 0, casts.parts.size(1));
  column_sum(gpu, sums, casts.parts, false);
  gpu::require(kernels::sum_of_parts(pointer<float>(d_bias), pointer<const float>(sums),
                                     d_bias.numel(), accumulate, gpu.space.stream),
               "gradient of a router's bias");
  gpu.done(Work::sum);
}

void router_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& d_logits,
                           const Tensor& weight, const Tensor& addend, const RouterCasts& casts) {
  const bool in_parts = dx.dtype != DType::f32;
  require_parts(casts.parts, dx);
  require_parts(casts.weight, dx);
  if (in_parts) {
    with_kernel_element(weight, [&]<class T>(T) {
      if constexpr (sizeof(T) == 2)
        gpu::require(kernels::repeat_for_parts(pointer<T>(casts.weight), pointer<const T>(weight),
                                               weight.numel(), gpu.space.stream),
                     "weight of a router");
    });
    gpu.done(Work::copy);
  }
  const Tensor& logits = in_parts ? casts.parts : d_logits;
  auto p = gpu::linear_input_gradient_problem(dx.size(0), logits.size(1), dx.size(1), dx.dtype);
  p.accumulate = addend.defined();
  route_product(gpu, p, logits.data, in_parts ? casts.weight.data : weight.data, dx.data,
                pointer<void>(addend));
}

void router_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Tensor& d_logits,
                            const Tensor& x, bool accumulate, const RouterCasts& casts) {
  const bool in_parts = x.dtype != DType::f32;
  require_parts(casts.parts, x);
  require_parts(casts.part_sums, x);
  const Tensor &logits = in_parts ? casts.parts : d_logits,
               &to = in_parts ? casts.part_sums : d_weight;
  auto p = gpu::linear_weight_gradient_problem(x.size(0), logits.size(1), x.size(1), x.dtype);
  p.accumulate = accumulate && !in_parts;
  route_product(gpu, p, logits.data, x.data, to.data);
  if (!in_parts) return;
  gpu::require(kernels::sum_of_parts(pointer<float>(d_weight), pointer<const float>(to),
                                     d_weight.numel(), accumulate, gpu.space.stream),
               "gradient of a router's weight");
  gpu.done(Work::sum);
}

}  // namespace trainx::operations::cuda
