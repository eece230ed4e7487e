#include "operations/norm/any_norm.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/norm/norm_backends.hpp"

namespace trainx::operations {

void any_norm(const NormForm& form, const NormedSum& to, const Tensor& residual,
              const Tensor& branch, const Tensor& bias, const Tensor& weight, const Tensor& shift,
              const Dropout& dropout, const Tensor& rows) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.sum))
      return cuda::any_norm(*gpu, form, to, residual, branch, bias, weight, shift, dropout, rows);
  return cpu::any_norm(form, to, residual, branch, bias, weight, shift, dropout, rows);
}

void any_norm_backward(const NormForm& form, const NormedSumGradients& to, const Tensor& d_sum,
                       const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                       const Tensor& rstd, const Tensor& weight, const Dropout& dropout) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.dx))
      return cuda::any_norm_backward(*gpu, form, to, d_sum, d_normed, sum, mean, rstd, weight,
                                     dropout);
  return cpu::any_norm_backward(form, to, d_sum, d_normed, sum, mean, rstd, weight, dropout);
}

}  // namespace trainx::operations
