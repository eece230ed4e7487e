#include "core/error.hpp"
#include "operations/attention/attention.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/full.h>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

namespace trainx::operations {

void cpu::cached_attention(const Tensor& out, const Tensor& qkv) {
  const TimedWork timed(Work::attention);
  const std::int64_t n = out.size(0), tokens = qkv.size(0), past = tokens - n;
  if (n < 1 || past < 0)
    throw InternalError("cached_attention: " + std::to_string(n) + " rows of " +
                        std::to_string(tokens));
  // queries, keys, values as [1, H, tokens, D]
  const at::Tensor all = tensor::torch_view(qkv).unsqueeze(0);
  const auto of = [&](int which) { return all.select(2, which).transpose(1, 2); };
  // -infinity where a row does not look; a single row sees all there is
  std::optional<at::Tensor> hidden;
  if (n > 1)
    hidden = at::full({n, tokens}, -std::numeric_limits<float>::infinity(), all.options())
                 .triu_(past + 1);
  const auto result = at::_scaled_dot_product_flash_attention_for_cpu(
      of(0).narrow(2, past, n), of(1), of(2), 0.0, false, hidden);
  tensor::torch_view(out).copy_(std::get<0>(result).transpose(1, 2).squeeze(0));
}

}  // namespace trainx::operations
