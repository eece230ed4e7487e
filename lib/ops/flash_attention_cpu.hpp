// LibTorch's flash attention for CPUs, into tensors that are there.
#pragma once
#include <ATen/core/Tensor.h>
#include "core/attention_kind.hpp"

namespace trainx::ops::cpu {

/// Whether `kind` is computed by math on a CPU; else by flash. Throws InternalError for a kind that
/// only GPUs have.
bool by_math(AttentionKind kind);

/// Shapes: ops/attention.hpp; `causal`: a token sees itself and those before it, else all.
void attend(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv, bool causal);
void attend_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv,
                     const at::Tensor& out, const at::Tensor& lse, bool causal);

}  // namespace trainx::ops::cpu
