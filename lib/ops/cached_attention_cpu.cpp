#include "core/error.hpp"
#include "ops/attention.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/timed_work.hpp"
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/full.h>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

void cached_attention(const at::Tensor& out, const at::Tensor& qkv) {
  TRAINX_ON_GPU(cached_attention(*gpu, out, qkv));
  const TimedWork timed(Work::attention);
  const std::int64_t n = out.size(0), tokens = qkv.size(0), past = tokens - n;
  if (n < 1 || past < 0)
    throw InternalError("cached_attention: " + std::to_string(n) + " rows of " +
                        std::to_string(tokens));
  // queries, keys, values as [1, H, tokens, D]
  const auto of = [&](int which) { return qkv.unsqueeze(0).select(2, which).transpose(1, 2); };
  // -infinity where a row does not look; a single row sees all there is
  std::optional<at::Tensor> hidden;
  if (n > 1)
    hidden = at::full({n, tokens}, -std::numeric_limits<float>::infinity(), qkv.options())
                 .triu_(past + 1);
  const auto result = at::_scaled_dot_product_flash_attention_for_cpu(
      of(0).narrow(2, past, n), of(1), of(2), 0.0, false, hidden);
  out.copy_(std::get<0>(result).transpose(1, 2).squeeze(0));
}

}  // namespace trainx::ops
