#pragma once
#include "operations/local_attention/local_attention_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// out[B * T, H, D] and lse[B, T, H] (f32; undefined: not kept) of qkv[B * T, 3 * H * D] on the
/// host; lengths i32 [B] from 0 to T. Rows past a length get zeros.
void local_attention(const LocalAttention& a, const Tensor& out, const Tensor& lse,
                     const Tensor& qkv, const Tensor& lengths);
/// d_qkv[B * T, 3 * H * D] of d_out[B * T, H * D]; rows past a length get zeros.
void local_attention_backward(const LocalAttention& a, const Tensor& d_qkv, const Tensor& d_out,
                              const Tensor& qkv, const Tensor& out, const Tensor& lse,
                              const Tensor& lengths);

}  // namespace trainx::operations
