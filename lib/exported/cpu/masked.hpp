#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::exported::cpu {

/// Whether `masked` takes these.
bool can_mask(const at::Tensor& kept, const at::Tensor& x);

/// Of fp32 x[B, H, T, S] where `kept` (bool) is true, else `hidden`, with the gradient of x; both
/// broadcast to each other: biases of attention.
at::Tensor masked(const at::Tensor& kept, const at::Tensor& x, double hidden);

}  // namespace trainx::exported::cpu
