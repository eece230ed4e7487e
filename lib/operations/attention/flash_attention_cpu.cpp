#include "operations/attention/flash_attention_cpu.hpp"
#include "core/error.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <string>
#include <tuple>

namespace trainx::operations::cpu {

using tensor::torch_view;

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

void attend(const Tensor& out, const Tensor& lse, const Tensor& qkv, bool causal) {
  const at::Tensor x = torch_view(qkv);
  const auto [result, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
      part(x, 0), part(x, 1), part(x, 2), 0.0, causal);
  torch_view(out).copy_(result.transpose(1, 2));
  torch_view(lse).copy_(log_sum.transpose(1, 2));
}

void attend_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv, const Tensor& out,
                     const Tensor& lse, bool causal) {
  const at::Tensor x = torch_view(qkv), dx = torch_view(d_qkv);
  const auto gradients = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      torch_view(d_out).transpose(1, 2), part(x, 0), part(x, 1), part(x, 2),
      torch_view(out).transpose(1, 2), torch_view(lse).transpose(1, 2), 0.0, causal);
  part(dx, 0).copy_(std::get<0>(gradients));
  part(dx, 1).copy_(std::get<1>(gradients));
  part(dx, 2).copy_(std::get<2>(gradients));
}

}  // namespace trainx::operations::cpu
