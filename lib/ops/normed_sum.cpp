#include "ops/column_sum.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/timed_work.hpp"
#include "ops/layer_norm.hpp"
#include "ops/residual.hpp"
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

void add_branch_layer_norm(const NormedSum& to, const at::Tensor& residual,
                           const at::Tensor& branch, const at::Tensor& bias,
                           const at::Tensor& weight, const at::Tensor& shift, double epsilon,
                           const Dropout& dropout, const PendingNorm& before,
                           const at::Tensor& rows) {
  TRAINX_ON_GPU(add_branch_layer_norm(*gpu, to, residual, branch, bias, weight, shift, epsilon,
                                      dropout, before, rows));
  const TimedWork timed(Work::norm);
  if (residual.defined()) add_branch_to_norm(to.sum, residual, before, branch, bias, dropout, rows);
  if (to.keep_statistics) layer_norm_statistics(to.mean, to.rstd, to.sum, epsilon);
  if (to.normed.defined()) layer_norm_apply(to.normed, to.sum, to.mean, to.rstd, weight, shift);
}

void add_branch_layer_norm_backward(const NormedSumGradients& to, const at::Tensor& d_sum,
                                    const at::Tensor& d_normed, const at::Tensor& sum,
                                    const at::Tensor& mean, const at::Tensor& rstd,
                                    const at::Tensor& weight, const Dropout& dropout) {
  TRAINX_ON_GPU(
      add_branch_layer_norm_backward(*gpu, to, d_sum, d_normed, sum, mean, rstd, weight, dropout));
  const TimedWork timed(Work::norm);
  layer_norm_backward_parameters(to.d_weight, to.d_shift, d_normed, sum, mean, rstd, to.accumulate);
  layer_norm_backward(to.dx, d_sum, d_normed, sum, mean, rstd, weight);
  if (dropout) drop_out(to.d_branch, to.dx, dropout);
  if (to.d_bias.defined()) column_sum(to.d_bias, dropout ? to.d_branch : to.dx, to.accumulate);
}

}  // namespace trainx::ops
