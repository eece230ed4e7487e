#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::exported::cpu {

/// Whether `rotated` takes these.
bool can_rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

/// RoPE (Su et al. 2021, arXiv:2104.09864) of x[B, H, T, D] whose pairs are half a head apart: x *
/// cos + [-x2, x1] * sin, x = [x1, x2], in fp32, with its gradient. cos and sin broadcast to x and
/// have none.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

}  // namespace trainx::exported::cpu
