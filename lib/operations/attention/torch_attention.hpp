// Attention by LibTorch's operators for GPUs: flash, efficient and math.
#pragma once
#include "core/attention_kind.hpp"
#include "operations/common/gpu.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {
struct MaskOperands;  // math_attention.hpp
}  // namespace trainx::operations

namespace trainx::operations::cuda {

constexpr bool is_torch(AttentionKind kind) {
  return kind == AttentionKind::flash || kind == AttentionKind::efficient ||
         kind == AttentionKind::math;
}

/// As causal_attention and bidirectional_attention have it; `lse` holds B * T * H values as the
/// kind lays them out.
void torch_attention(const Gpu& gpu, AttentionKind kind, const Tensor& out, const Tensor& lse,
                     const Tensor& qkv, const MaskOperands& sight);
void torch_attention_backward(const Gpu& gpu, AttentionKind kind, const Tensor& d_qkv,
                              const Tensor& d_out, const Tensor& qkv, const Tensor& out,
                              const Tensor& lse, const MaskOperands& sight);

}  // namespace trainx::operations::cuda
