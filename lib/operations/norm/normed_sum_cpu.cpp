#include "operations/column_sum/column_sum.hpp"
#include "operations/dropout/dropout_backends.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/norm/norm_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/norm/layer_norm.hpp"
#include "operations/norm/residual.hpp"

namespace trainx::operations {

void cpu::add_branch_layer_norm(const NormedSum& to, const Tensor& residual, const Tensor& branch,
                                const Tensor& bias, const Tensor& weight, const Tensor& shift,
                                double epsilon, const Dropout& dropout, const PendingNorm& before,
                                const Tensor& rows) {
  const TimedWork timed(Work::norm);
  if (residual.defined()) add_branch_to_norm(to.sum, residual, before, branch, bias, dropout, rows);
  if (to.keep_statistics) layer_norm_statistics(to.mean, to.rstd, to.sum, epsilon);
  if (to.normed.defined()) layer_norm_apply(to.normed, to.sum, to.mean, to.rstd, weight, shift);
}

void cpu::add_branch_layer_norm_backward(const NormedSumGradients& to, const Tensor& d_sum,
                                         const Tensor& d_normed, const Tensor& sum,
                                         const Tensor& mean, const Tensor& rstd,
                                         const Tensor& weight, const Dropout& dropout) {
  const TimedWork timed(Work::norm);
  if (to.d_weight.defined())
    layer_norm_backward_parameters(to.d_weight, to.d_shift, d_normed, sum, mean, rstd,
                                   to.accumulate);
  layer_norm_backward(to.dx, d_sum, d_normed, sum, mean, rstd, weight);
  if (dropout) cpu::drop_out(to.d_branch, to.dx, dropout);
  if (to.d_bias.defined()) column_sum(to.d_bias, dropout ? to.d_branch : to.dx, to.accumulate);
}

}  // namespace trainx::operations
