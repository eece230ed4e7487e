// What attention's kernels are recognized by in a captured step.
#pragma once
#include "core/attention_kind.hpp"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::operations {

/// Fused kernels of one maker: fragments that a kernel's name holds, all of them.
struct FusedAttention {
  std::string maker;
  std::vector<std::string_view> forward, backward;
  std::vector<AttentionKind> kinds;  // that may run them
  // true: where rows hold several documents, and there alone; unset: there too
  std::optional<bool> documents = false;
};
const std::vector<FusedAttention>& fused_attention();

}  // namespace trainx::operations
