// Backends of these operations. GPUs have no kernel so far.
#pragma once
#include "operations/quantize/quantize.hpp"

namespace trainx::operations::cpu {

void quantize(const Fp8Tensor& to, const Tensor& x);
/// to (f32) = values, without their scale.
void widen(const Tensor& to, const Fp8Tensor& from);

}  // namespace trainx::operations::cpu
