#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// sums[C] (f32) = or += sum over the rows of x[N, C]: the gradient of a bias.
void column_sum(const Tensor& sums, const Tensor& x, bool accumulate);

}  // namespace trainx::operations
