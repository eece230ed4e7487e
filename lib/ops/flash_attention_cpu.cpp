#include "ops/flash_attention_cpu.hpp"
#include "core/error.hpp"
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <string>
#include <tuple>

namespace trainx::ops::cpu {
namespace {

/// Queries (0), keys (1) or values (2) as [B, H, T, D], a view.
at::Tensor part(const at::Tensor& qkv, int which) { return qkv.select(2, which).transpose(1, 2); }

}  // namespace

bool by_math(AttentionKind kind) {
  if (kind == AttentionKind::cudnn || kind == AttentionKind::efficient)
    throw InternalError("attention by " + std::string(name_of(kind)) + " on a CPU");
  return kind == AttentionKind::math;
}

// ATen's operators have no variants that write into given results, so these are copied; what they
// allocate is counted in ModelGraph::library_bytes.

void attend(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv, bool causal) {
  const auto [result, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
      part(qkv, 0), part(qkv, 1), part(qkv, 2), 0.0, causal);
  out.copy_(result.transpose(1, 2));
  lse.copy_(log_sum.transpose(1, 2));
}

void attend_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv,
                     const at::Tensor& out, const at::Tensor& lse, bool causal) {
  const auto gradients = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      d_out.transpose(1, 2), part(qkv, 0), part(qkv, 1), part(qkv, 2), out.transpose(1, 2),
      lse.transpose(1, 2), 0.0, causal);
  part(d_qkv, 0).copy_(std::get<0>(gradients));
  part(d_qkv, 1).copy_(std::get<1>(gradients));
  part(d_qkv, 2).copy_(std::get<2>(gradients));
}

}  // namespace trainx::ops::cpu
