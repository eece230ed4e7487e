#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// out[b * T] = the mean of x[b * T + t] over t < lengths[b], other rows 0; x, out [B * T, C] on
/// the host, lengths i32 [B]. A sample without tokens gets 0.
void mean_pool(const Tensor& out, const Tensor& x, const Tensor& lengths);
/// dx of d_out, whose first rows of samples alone are read.
void mean_pool_backward(const Tensor& dx, const Tensor& d_out, const Tensor& lengths);

}  // namespace trainx::operations
