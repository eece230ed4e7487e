#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::ops {

/// sums[C] (f32) = or += sum over the rows of x[N, C]: the gradient of a bias.
void column_sum(const at::Tensor& sums, const at::Tensor& x, bool accumulate);

}  // namespace trainx::ops
