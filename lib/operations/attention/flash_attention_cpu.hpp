// LibTorch's flash attention for CPUs, into tensors that are there.
#pragma once
#include "tensor/tensor.hpp"
#include "core/attention_kind.hpp"

namespace trainx::operations::cpu {

/// Whether `kind` is computed by math on a CPU; else by flash. Throws InternalError for a kind that
/// only GPUs have.
bool by_math(AttentionKind kind);

/// Shapes: ops/attention.hpp; `causal`: a token sees itself and those before it, else all.
void attend(const Tensor& out, const Tensor& lse, const Tensor& qkv, bool causal);
void attend_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv, const Tensor& out,
                     const Tensor& lse, bool causal);

}  // namespace trainx::operations::cpu
