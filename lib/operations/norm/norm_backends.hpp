// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/norm/any_norm.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void layer_norm(const Tensor& normed, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double epsilon);
void add_branch_layer_norm(const NormedSum& to, const Tensor& residual, const Tensor& branch,
                           const Tensor& bias, const Tensor& weight, const Tensor& shift,
                           double epsilon, const Dropout& dropout, const PendingNorm& before,
                           const Tensor& rows);
void add_branch_layer_norm_backward(const NormedSumGradients& to, const Tensor& d_sum,
                                    const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                                    const Tensor& rstd, const Tensor& weight,
                                    const Dropout& dropout);
void any_norm(const NormForm& form, const NormedSum& to, const Tensor& residual,
              const Tensor& branch, const Tensor& bias, const Tensor& weight, const Tensor& shift,
              const Dropout& dropout, const Tensor& rows);
void any_norm_backward(const NormForm& form, const NormedSumGradients& to, const Tensor& d_sum,
                       const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                       const Tensor& rstd, const Tensor& weight, const Dropout& dropout);
}  // namespace cpu

namespace cuda {
void add_branch_layer_norm(const Gpu& gpu, const NormedSum& to, const Tensor& residual,
                           const Tensor& branch, const Tensor& bias, const Tensor& weight,
                           const Tensor& shift, double epsilon, const Dropout& dropout,
                           const PendingNorm& before, const Tensor& rows);
void layer_norm(const Gpu& gpu, const Tensor& normed, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double epsilon);
void add_branch_layer_norm_backward(const Gpu& gpu, const NormedSumGradients& to,
                                    const Tensor& d_sum, const Tensor& d_normed, const Tensor& sum,
                                    const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                    const Dropout& dropout);
void any_norm(const Gpu& gpu, const NormForm& form, const NormedSum& to, const Tensor& residual,
              const Tensor& branch, const Tensor& bias, const Tensor& weight, const Tensor& shift,
              const Dropout& dropout, const Tensor& rows);
void any_norm_backward(const Gpu& gpu, const NormForm& form, const NormedSumGradients& to,
                       const Tensor& d_sum, const Tensor& d_normed, const Tensor& sum,
                       const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                       const Dropout& dropout);
}  // namespace cuda

}  // namespace trainx::operations
