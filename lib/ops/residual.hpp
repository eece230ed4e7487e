#pragma once
#include "ops/dropout.hpp"

namespace trainx::ops {

/// out[N, C] = residual[N, C] + dropout(branch[N, C] + bias[C]); `out` may be `residual`.
void add_branch(const at::Tensor& out, const at::Tensor& residual, const at::Tensor& branch, const at::Tensor& bias, const Dropout& dropout);

/// A LayerNorm that a residual has yet to go through: weight[C], bias[C]. Undefined: none.
struct PendingNorm {
  at::Tensor weight, bias;
  double epsilon = 0;
  explicit operator bool() const { return weight.defined(); }
};
/// out[R, C] = norm(residual) + dropout(branch + bias) of the rows `rows`[R] (i64) of residual[N, C] and branch[N, C]; rows undefined: of all, R = N.
void add_branch_to_norm(const at::Tensor& out, const at::Tensor& residual, const PendingNorm& norm, const at::Tensor& branch, const at::Tensor& bias, const Dropout& dropout,
                        const at::Tensor& rows = {});

/// to[rows[r], C] = from[r, C]; rows (i64) of `to` that are not named stay as they are.
void scatter_rows(const at::Tensor& to, const at::Tensor& from, const at::Tensor& rows);

}  // namespace trainx::ops
