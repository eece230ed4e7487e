// A residual sum and a norm of it in every form: RMSNorm or LayerNorm, with or without weight and
// shift, with or without a sum before it, or no norm at all.
#pragma once
#include "operations/norm/residual.hpp"

namespace trainx::operations {

struct NormForm {
  bool rms = false;
  double epsilon = 1e-5, weight_offset = 0, branch_scale = 1;
};
/// sum[N, C] = residual + branch_scale * dropout(branch + bias) (residual undefined: it is there),
/// mean[N], rstd[N] (f32; undefined: not kept), normed[N, C] = (sum - mean) * rstd * (weight +
/// weight_offset) + shift (undefined: not wanted). Undefined parameters are absent. `rows` (i64
/// [N]): which rows of residual and branch are added; undefined: all.
void any_norm(const NormForm& form, const NormedSum& to, const Tensor& residual,
              const Tensor& branch, const Tensor& bias, const Tensor& weight, const Tensor& shift,
              const Dropout& dropout, const Tensor& rows = {});
/// d_normed undefined: there was no norm. dx may be d_sum, which may be undefined (0), or d_normed.
void any_norm_backward(const NormForm& form, const NormedSumGradients& to, const Tensor& d_sum,
                       const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                       const Tensor& rstd, const Tensor& weight, const Dropout& dropout);

}  // namespace trainx::operations
