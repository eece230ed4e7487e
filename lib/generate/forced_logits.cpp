#include "generate/forced_logits.hpp"
#include <limits>

namespace trainx::generate {

std::span<const float> ForcedLogits::instead_of(std::span<const float> logits, std::int64_t added) {
  const auto only = [&](const std::vector<std::int32_t>& tokens, std::vector<float>& forced) {
    if (forced.empty()) {
      forced.assign(logits.size(), -std::numeric_limits<float>::infinity());
      for (const std::int32_t token : tokens) forced.at(static_cast<std::size_t>(token)) = 0;
    }
    return std::span<const float>(forced);
  };
  if (added + 1 == options_.max_tokens && !options_.forced_last.empty())
    return only(options_.forced_last, last_);
  if (added == 0 && !options_.forced_first.empty()) return only(options_.forced_first, first_);
  return logits;
}

}  // namespace trainx::generate
