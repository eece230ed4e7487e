#include "core/error.hpp"
#include "ops/attention.hpp"
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/full.h>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include "ops/gpu_scope.hpp"
#include "ops/math_attention.hpp"
#include "ops/timed_work.hpp"
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

namespace {

/// Queries (0), keys (1) or values (2) as [B, H, T, D], a view.
at::Tensor part(const at::Tensor& qkv, int which) { return qkv.select(2, which).transpose(1, 2); }

// ATen's operators have no variants that write into given results, so these are copied; what they allocate is counted in ModelGraph::library_bytes.

void attend(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv, bool causal) {
  const auto [result, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(part(qkv, 0), part(qkv, 1), part(qkv, 2), 0.0, causal);
  out.copy_(result.transpose(1, 2));
  lse.copy_(log_sum.transpose(1, 2));
}

void attend_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse, bool causal) {
  const auto gradients = at::_scaled_dot_product_flash_attention_for_cpu_backward(d_out.transpose(1, 2), part(qkv, 0), part(qkv, 1), part(qkv, 2), out.transpose(1, 2),
                                                                                  lse.transpose(1, 2), 0.0, causal);
  part(d_qkv, 0).copy_(std::get<0>(gradients));
  part(d_qkv, 1).copy_(std::get<1>(gradients));
  part(d_qkv, 2).copy_(std::get<2>(gradients));
}

void require_length(std::int32_t length, std::int64_t longest) {
  if (length < 0 || length > longest) throw InternalError("attention: a length of " + std::to_string(length) + " in rows of " + std::to_string(longest));
}

/// Whether to compute by math; else by flash.
bool by_math(AttentionKind kind) {
  if (kind == AttentionKind::cudnn || kind == AttentionKind::efficient) throw InternalError("attention by " + std::string(name_of(kind)) + " on a CPU");
  return kind == AttentionKind::math;
}

/// Of bidirectional attention: lengths where some row is not full.
Sight sight_of(const at::Tensor& lengths, std::int64_t longest) {
  const auto* length = static_cast<const std::int32_t*>(lengths.const_data_ptr());
  bool full = true;
  for (std::int64_t b = 0; b < lengths.size(0); ++b) {
    require_length(length[b], longest);
    full = full && length[b] == longest;
  }
  return {false, full ? at::Tensor() : lengths};
}

/// Samples [first, first + count) of one length, as views without their padding.
struct Run {
  std::int64_t first, count, length;
  at::Tensor of(const at::Tensor& x) const { return x.narrow(0, first, count).narrow(1, 0, length); }
  void clear_padding(const at::Tensor& x) const {
    if (length < x.size(1)) x.narrow(0, first, count).narrow(1, length, x.size(1) - length).zero_();
  }
};

template <class F>
void for_runs(const at::Tensor& lengths, std::int64_t longest, F f) {
  const auto* length = static_cast<const std::int32_t*>(lengths.const_data_ptr());
  const std::int64_t samples = lengths.size(0);
  for (std::int64_t first = 0, end = 0; first < samples; first = end) {
    require_length(length[first], longest);
    while (end < samples && length[end] == length[first]) ++end;
    f(Run{first, end - first, length[first]});
  }
}

}  // namespace

void causal_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv, AttentionKind kind) {
  TRAINX_ON_GPU(causal_attention(*gpu, out, lse, qkv, kind));
  const TimedWork timed(Work::attention);
  if (by_math(kind)) return math_attention(out, lse.transpose(1, 2), qkv, {.causal = true});
  attend(out, lse, qkv, true);
}

void causal_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse, AttentionKind kind) {
  TRAINX_ON_GPU(causal_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, kind));
  const TimedWork timed(Work::attention);
  if (by_math(kind)) return math_attention_backward(d_qkv, d_out, qkv, out, {.causal = true});
  attend_backward(d_qkv, d_out, qkv, out, lse, true);
}

void cached_attention(const at::Tensor& out, const at::Tensor& qkv) {
  TRAINX_ON_GPU(cached_attention(*gpu, out, qkv));
  const TimedWork timed(Work::attention);
  const std::int64_t n = out.size(0), tokens = qkv.size(0), past = tokens - n;
  if (n < 1 || past < 0) throw InternalError("cached_attention: " + std::to_string(n) + " rows of " + std::to_string(tokens));
  const at::Tensor sample = qkv.unsqueeze(0);
  std::optional<at::Tensor> hidden;     // -infinity where a row does not look; a single row sees all there is
  if (n > 1) hidden = at::full({n, tokens}, -std::numeric_limits<float>::infinity(), qkv.options()).triu_(past + 1);
  const auto result = at::_scaled_dot_product_flash_attention_for_cpu(part(sample, 0).narrow(2, past, n), part(sample, 1), part(sample, 2), 0.0, false, hidden);
  out.copy_(std::get<0>(result).transpose(1, 2).squeeze(0));
}

void bidirectional_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv, const at::Tensor& lengths, AttentionKind kind) {
  TRAINX_ON_GPU(bidirectional_attention(*gpu, out, lse, qkv, lengths, kind));
  const TimedWork timed(Work::attention);
  if (by_math(kind)) return math_attention(out, lse.transpose(1, 2), qkv, sight_of(lengths, qkv.size(1)));
  for_runs(lengths, qkv.size(1), [&](const Run& run) {
    if (run.length > 0) attend(run.of(out), run.of(lse), run.of(qkv), false);
    run.clear_padding(out);
    run.clear_padding(lse);
  });
}

void bidirectional_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse,
                                      const at::Tensor& lengths, AttentionKind kind) {
  TRAINX_ON_GPU(bidirectional_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, lengths, kind));
  const TimedWork timed(Work::attention);
  if (by_math(kind)) return math_attention_backward(d_qkv, d_out, qkv, out, sight_of(lengths, qkv.size(1)));
  for_runs(lengths, qkv.size(1), [&](const Run& run) {
    if (run.length > 0) attend_backward(run.of(d_qkv), run.of(d_out), run.of(qkv), run.of(out), run.of(lse), false);
    run.clear_padding(d_qkv);
  });
}

}  // namespace trainx::ops
