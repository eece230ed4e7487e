#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trainx::options {

/// A list of tokens, or a map of such lists whose keys are the user's own: [5, 6],
/// {embed_tokens: [5, 6]}.
struct TokensByName {
  bool is_list = true;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> entries;  // of a list one, ""
  bool operator==(const TokensByName&) const = default;
};

}  // namespace trainx::options
