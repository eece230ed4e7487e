#include "core/error.hpp"
#include "ops/attention.hpp"
#include "ops/flash_attention_cpu.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/math_attention.hpp"
#include "ops/timed_work.hpp"
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

namespace {

void require_length(std::int32_t length, std::int64_t longest) {
  if (length < 0 || length > longest)
    throw InternalError("attention: a length of " + std::to_string(length) + " in rows of " +
                        std::to_string(longest));
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
  at::Tensor of(const at::Tensor& x) const {
    return x.narrow(0, first, count).narrow(1, 0, length);
  }
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

void causal_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
                      AttentionKind kind) {
  TRAINX_ON_GPU(causal_attention(*gpu, out, lse, qkv, kind));
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind)) return math_attention(out, lse.transpose(1, 2), qkv, {.causal = true});
  cpu::attend(out, lse, qkv, true);
}

void causal_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out,
                               const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse,
                               AttentionKind kind) {
  TRAINX_ON_GPU(causal_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, kind));
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind)) return math_attention_backward(d_qkv, d_out, qkv, out, {.causal = true});
  cpu::attend_backward(d_qkv, d_out, qkv, out, lse, true);
}

void bidirectional_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
                             const at::Tensor& lengths, AttentionKind kind) {
  TRAINX_ON_GPU(bidirectional_attention(*gpu, out, lse, qkv, lengths, kind));
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind))
    return math_attention(out, lse.transpose(1, 2), qkv, sight_of(lengths, qkv.size(1)));
  for_runs(lengths, qkv.size(1), [&](const Run& run) {
    if (run.length > 0) cpu::attend(run.of(out), run.of(lse), run.of(qkv), false);
    run.clear_padding(out);
    run.clear_padding(lse);
  });
}

void bidirectional_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out,
                                      const at::Tensor& qkv, const at::Tensor& out,
                                      const at::Tensor& lse, const at::Tensor& lengths,
                                      AttentionKind kind) {
  TRAINX_ON_GPU(bidirectional_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, lengths, kind));
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind))
    return math_attention_backward(d_qkv, d_out, qkv, out, sight_of(lengths, qkv.size(1)));
  for_runs(lengths, qkv.size(1), [&](const Run& run) {
    if (run.length > 0)
      cpu::attend_backward(run.of(d_qkv), run.of(d_out), run.of(qkv), run.of(out), run.of(lse),
                           false);
    run.clear_padding(d_qkv);
  });
}

}  // namespace trainx::ops
