#pragma once
#include "operations/dropout/dropout.hpp"

namespace trainx::operations {

/// out[N, C] = residual[N, C] + dropout(branch[N, C] + bias[C]); `out` may be `residual`.
void add_branch(const Tensor& out, const Tensor& residual, const Tensor& branch, const Tensor& bias,
                const Dropout& dropout);

/// A LayerNorm that a residual has yet to go through: weight[C], bias[C]. Undefined: none.
struct PendingNorm {
  Tensor weight, bias;
  double epsilon = 0;
  explicit operator bool() const { return weight.defined(); }
};
/// out[R, C] = norm(residual) + dropout(branch + bias) of the rows `rows`[R] (i64) of residual[N,
/// C] and branch[N, C]; rows undefined: of all, R = N.
void add_branch_to_norm(const Tensor& out, const Tensor& residual, const PendingNorm& norm,
                        const Tensor& branch, const Tensor& bias, const Dropout& dropout,
                        const Tensor& rows = {});

/// The normed sum that a block begins with. `normed` undefined: it is not wanted. Statistics are
/// written, or only read (where `keep_statistics` is false).
struct NormedSum {
  Tensor sum, mean, rstd, normed;
  bool keep_statistics = true;
};
/// sum[N, C] = residual + dropout(branch + bias), mean[N] and rstd[N] (f32) of its rows, normed[N,
/// C] = (sum - mean) * rstd * weight + shift. `residual` undefined: the sum is there already.
/// `before` and `rows` as in add_branch_to_norm, with the same epsilon.
void add_branch_layer_norm(const NormedSum& to, const Tensor& residual, const Tensor& branch,
                           const Tensor& bias, const Tensor& weight, const Tensor& shift,
                           double epsilon, const Dropout& dropout, const PendingNorm& before = {},
                           const Tensor& rows = {});

/// Where its gradients go: dx[N, C] of the sum, and of the residual; d_branch[N, C], dx through the
/// dropout, where there is one; weight, shift and the branch's bias [C] (f32; bias undefined: not
/// wanted; on a CPU also weight and shift together), overwritten or added to.
struct NormedSumGradients {
  Tensor dx, d_branch, d_weight, d_shift, d_bias;
  bool accumulate = false;
};
/// dx may be d_sum, which may be undefined (0), or d_normed.
void add_branch_layer_norm_backward(const NormedSumGradients& to, const Tensor& d_sum,
                                    const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                                    const Tensor& rstd, const Tensor& weight,
                                    const Dropout& dropout);

}  // namespace trainx::operations
