#include "core/error.hpp"
#include "operations/attention/attention.hpp"
#include "operations/attention/flash_attention_cpu.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/attention/math_attention.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"
#include <string>

namespace trainx::operations {

using tensor::torch_view;

namespace {

/// Tokens [begin, end) of a row, as a view of a batch of one.
struct Document {
  std::int64_t row, begin, end;
  Tensor of(const Tensor& x) const { return x.narrow(0, row, 1).narrow(1, begin, end - begin); }
};

/// Calls `compute(document)` for each, and `clear(document)` for the padding behind those of a row.
template <class Compute, class Clear>
void for_documents(const Tensor& starts, Compute compute, Clear clear) {
  const std::int64_t rows = starts.size(0), length = starts.size(1);
  const auto* start = starts.as<const std::int32_t>();
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

void cpu::document_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                             const Tensor& starts, AttentionKind kind) {
  const TimedWork timed(Work::attention);
  const bool by_math = cpu::by_math(kind);
  for_documents(
      starts,
      [&](const Document& d) {
        if (by_math)
          math_attention(torch_view(d.of(out)), torch_view(d.of(lse).transpose(1, 2)),
                         torch_view(d.of(qkv)), {.causal = true});
        else
          cpu::attend(d.of(out), d.of(lse), d.of(qkv), true);
      },
      [&](const Document& d) {
        torch_view(d.of(out)).zero_();
        torch_view(d.of(lse)).zero_();
      });
}

void cpu::document_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                      const Tensor& out, const Tensor& lse, const Tensor& starts,
                                      AttentionKind kind) {
  const TimedWork timed(Work::attention);
  const bool by_math = cpu::by_math(kind);
  for_documents(
      starts,
      [&](const Document& d) {
        if (by_math)
          math_attention_backward(torch_view(d.of(d_qkv)), torch_view(d.of(d_out)),
                                  torch_view(d.of(qkv)), torch_view(d.of(out)), {.causal = true});
        else
          cpu::attend_backward(d.of(d_qkv), d.of(d_out), d.of(qkv), d.of(out), d.of(lse), true);
      },
      [&](const Document& d) { torch_view(d.of(d_qkv)).zero_(); });
}

}  // namespace trainx::operations
