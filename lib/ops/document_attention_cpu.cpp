#include "core/error.hpp"
#include "ops/attention.hpp"
#include "ops/flash_attention_cpu.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/math_attention.hpp"
#include "ops/timed_work.hpp"
#include <string>
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {
namespace {

/// Tokens [begin, end) of a row, as a view of a batch of one.
struct Document {
  std::int64_t row, begin, end;
  at::Tensor of(const at::Tensor& x) const {
    return x.narrow(0, row, 1).narrow(1, begin, end - begin);
  }
};

/// Calls `compute(document)` for each, and `clear(document)` for the padding behind those of a row.
template <class Compute, class Clear>
void for_documents(const at::Tensor& starts, Compute compute, Clear clear) {
  const std::int64_t rows = starts.size(0), length = starts.size(1);
  const auto* start = static_cast<const std::int32_t*>(starts.const_data_ptr());
  for (std::int64_t row = 0; row < rows; ++row, start += length) {
    for (std::int64_t begin = 0, end = 0; begin < length; begin = end) {
      while (end < length && start[end] == start[begin]) ++end;
      const bool padding = start[begin] == -1 && end == length;
      if (!padding && start[begin] != begin)
        throw InternalError("attention: a document that begins at " + std::to_string(start[begin]) +
                            " has its first token at " + std::to_string(begin));
      if (padding)
        clear(Document{row, begin, end});
      else
        compute(Document{row, begin, end});
    }
  }
}

}  // namespace

void document_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
                        const at::Tensor& starts, AttentionKind kind) {
  TRAINX_ON_GPU(document_attention(*gpu, out, lse, qkv, starts, kind));
  const TimedWork timed(Work::attention);
  const bool by_math = cpu::by_math(kind);
  for_documents(
      starts,
      [&](const Document& d) {
        if (by_math)
          math_attention(d.of(out), d.of(lse).transpose(1, 2), d.of(qkv), {.causal = true});
        else
          cpu::attend(d.of(out), d.of(lse), d.of(qkv), true);
      },
      [&](const Document& d) {
        d.of(out).zero_();
        d.of(lse).zero_();
      });
}

void document_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out,
                                 const at::Tensor& qkv, const at::Tensor& out,
                                 const at::Tensor& lse, const at::Tensor& starts,
                                 AttentionKind kind) {
  TRAINX_ON_GPU(document_attention_backward(*gpu, d_qkv, d_out, qkv, out, lse, starts, kind));
  const TimedWork timed(Work::attention);
  const bool by_math = cpu::by_math(kind);
  for_documents(
      starts,
      [&](const Document& d) {
        if (by_math)
          math_attention_backward(d.of(d_qkv), d.of(d_out), d.of(qkv), d.of(out), {.causal = true});
        else
          cpu::attend_backward(d.of(d_qkv), d.of(d_out), d.of(qkv), d.of(out), d.of(lse), true);
      },
      [&](const Document& d) { d.of(d_qkv).zero_(); });
}

}  // namespace trainx::ops
