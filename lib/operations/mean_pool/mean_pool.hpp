#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// out[b] = the mean of x[b * T + t] over t < lengths[b]; x [B * T, C], out [B, C], lengths
/// i32 [B]. A sample without tokens gets 0.
void mean_pool(const Tensor& out, const Tensor& x, const Tensor& lengths);
/// dx[B * T, C] of d_out[B, C]; padding gets 0.
void mean_pool_backward(const Tensor& dx, const Tensor& d_out, const Tensor& lengths);

}  // namespace trainx::operations
