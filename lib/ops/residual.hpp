#pragma once
#include "ops/dropout.hpp"

namespace trainx::ops {

/// out[N, C] = residual[N, C] + dropout(branch[N, C] + bias[C]); `out` may be `residual`.
void add_branch(const at::Tensor& out, const at::Tensor& residual, const at::Tensor& branch, const at::Tensor& bias, const Dropout& dropout);

}  // namespace trainx::ops
