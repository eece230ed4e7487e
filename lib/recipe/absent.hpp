// Keys of other tools for what trainx does not have.
#pragma once
#include <optional>
#include <string_view>

namespace trainx::recipe {

/// What a message says of such a key ("trainx has no adapters: it trains all weights"), or nothing.
std::optional<std::string_view> absent_feature(std::string_view key);

}  // namespace trainx::recipe
