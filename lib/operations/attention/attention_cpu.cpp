#include "core/error.hpp"
#include "operations/attention/attention.hpp"
#include "operations/attention/flash_attention_cpu.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/attention/math_attention.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"

namespace trainx::operations {

using tensor::torch_view;

namespace {

void require_length(std::int32_t length, std::int64_t longest) {
  if (length < 0 || length > longest)
    throw InternalError("attention: a length of " + std::to_string(length) + " in rows of " +
                        std::to_string(longest));
}

void clear(const Tensor& x) { torch_view(x).zero_(); }

/// Of bidirectional attention: lengths where some row is not full.
MaskOperands sight_of(const Tensor& lengths, std::int64_t longest) {
  const auto* length = lengths.as<const std::int32_t>();
  bool full = true;
  for (std::int64_t b = 0; b < lengths.size(0); ++b) {
    require_length(length[b], longest);
    full = full && length[b] == longest;
  }
  return {false, full ? at::Tensor() : torch_view(lengths)};
}

/// Samples [first, first + count) of one length, as views without their padding.
struct Run {
  std::int64_t first, count, length;
  Tensor of(const Tensor& x) const { return x.narrow(0, first, count).narrow(1, 0, length); }
  void clear_padding(const Tensor& x) const {
    if (length < x.size(1)) clear(x.narrow(0, first, count).narrow(1, length, x.size(1) - length));
  }
};

template <class F>
void for_runs(const Tensor& lengths, std::int64_t longest, F f) {
  const auto* length = lengths.as<const std::int32_t>();
  const std::int64_t samples = lengths.size(0);
  for (std::int64_t first = 0, end = 0; first < samples; first = end) {
    require_length(length[first], longest);
    while (end < samples && length[end] == length[first]) ++end;
    f(Run{first, end - first, length[first]});
  }
}

}  // namespace

void cpu::causal_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                           AttentionKind kind) {
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind))
    return math_attention(torch_view(out), torch_view(lse.transpose(1, 2)), torch_view(qkv),
                          {.causal = true});
  cpu::attend(out, lse, qkv, true);
}

void cpu::causal_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                    const Tensor& out, const Tensor& lse, AttentionKind kind) {
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind))
    return math_attention_backward(torch_view(d_qkv), torch_view(d_out), torch_view(qkv),
                                   torch_view(out), {.causal = true});
  cpu::attend_backward(d_qkv, d_out, qkv, out, lse, true);
}

void cpu::bidirectional_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                                  const Tensor& lengths, AttentionKind kind) {
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind))
    return math_attention(torch_view(out), torch_view(lse.transpose(1, 2)), torch_view(qkv),
                          sight_of(lengths, qkv.size(1)));
  for_runs(lengths, qkv.size(1), [&](const Run& run) {
    if (run.length > 0) cpu::attend(run.of(out), run.of(lse), run.of(qkv), false);
    run.clear_padding(out);
    run.clear_padding(lse);
  });
}

void cpu::bidirectional_attention_backward(const Tensor& d_qkv, const Tensor& d_out,
                                           const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                           const Tensor& lengths, AttentionKind kind) {
  const TimedWork timed(Work::attention);
  if (cpu::by_math(kind))
    return math_attention_backward(torch_view(d_qkv), torch_view(d_out), torch_view(qkv),
                                   torch_view(out), sight_of(lengths, qkv.size(1)));
  for_runs(lengths, qkv.size(1), [&](const Run& run) {
    if (run.length > 0)
      cpu::attend_backward(run.of(d_qkv), run.of(d_out), run.of(qkv), run.of(out), run.of(lse),
                           false);
    run.clear_padding(d_qkv);
  });
}

}  // namespace trainx::operations
