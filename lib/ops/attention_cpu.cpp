// Over ATen's kernels below `_scaled_dot_product_flash_attention_for_cpu`: that operator allocates its results, these write where they are told.
#include "ops/attention.hpp"
#include <ATen/native/transformers/attention.h>

namespace trainx::ops {

namespace {

/// Queries (0), keys (1) or values (2) as [B, H, T, D], a view.
at::Tensor part(const at::Tensor& qkv, int which) { return qkv.select(2, which).transpose(1, 2); }

}  // namespace

void causal_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv) {
  // The kernel takes its results as [B, T, H, D] and [B, T, H].
  at::native::flash_attention_kernel(at::kCPU, out, lse, part(qkv, 0), part(qkv, 1), part(qkv, 2), 0.0, true, std::nullopt, std::nullopt);
}

void causal_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse) {
  d_qkv.zero_();                        // the kernel adds up tiles
  at::native::flash_attention_backward_kernel(at::kCPU, d_qkv.select(2, 0), d_qkv.select(2, 1), d_qkv.select(2, 2), d_out, qkv.select(2, 0), qkv.select(2, 1), qkv.select(2, 2), out,
                                              lse.transpose(1, 2), 0.0, true, std::nullopt, std::nullopt);
}

}  // namespace trainx::ops
