#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::exported::cpu {

/// x[..., C] / sqrt(mean(x^2) + epsilon) * weight[C] over the last dimension, in fp32, with its
/// gradient.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

}  // namespace trainx::exported::cpu
