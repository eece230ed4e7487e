// Gates with limits (clamped_gated_spec.hpp). Tensors of one type.
#pragma once
#include "operations/clamped_gated/clamped_gated_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y[N, F] of x[N, 2 F].
void clamped_gated(const ClampedGated& g, const Tensor& y, const Tensor& x);
/// dx[N, 2 F] of dy[N, F]. Nothing passes a limit that is exceeded.
void clamped_gated_backward(const ClampedGated& g, const Tensor& dx, const Tensor& dy,
                            const Tensor& x);

}  // namespace trainx::operations
