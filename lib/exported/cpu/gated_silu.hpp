#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::exported::cpu {

/// silu(gate) * up of two tensors of one shape, in fp32, with its gradient: SwiGLU (Shazeer 2020,
/// arXiv:2002.05202).
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace trainx::exported::cpu
