#include "operations/norm/residual.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/norm/norm_backends.hpp"

namespace trainx::operations {

void add_branch_layer_norm(const NormedSum& to, const Tensor& residual, const Tensor& branch,
                           const Tensor& bias, const Tensor& weight, const Tensor& shift,
                           double epsilon, const Dropout& dropout, const PendingNorm& before,
                           const Tensor& rows) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.sum))
      return cuda::add_branch_layer_norm(*gpu, to, residual, branch, bias, weight, shift, epsilon,
                                         dropout, before, rows);
  return cpu::add_branch_layer_norm(to, residual, branch, bias, weight, shift, epsilon, dropout,
                                    before, rows);
}

void add_branch_layer_norm_backward(const NormedSumGradients& to, const Tensor& d_sum,
                                    const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                                    const Tensor& rstd, const Tensor& weight,
                                    const Dropout& dropout) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.dx))
      return cuda::add_branch_layer_norm_backward(*gpu, to, d_sum, d_normed, sum, mean, rstd,
                                                  weight, dropout);
  return cpu::add_branch_layer_norm_backward(to, d_sum, d_normed, sum, mean, rstd, weight, dropout);
}

}  // namespace trainx::operations
