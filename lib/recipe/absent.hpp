// Keys of other tools for what trainx does not have.
#pragma once
#include <optional>
#include <string_view>

namespace trainx::recipe {

/// What a message says of such a key ("trainx sends metrics to no service"), or nothing.
std::optional<std::string_view> absent_feature(std::string_view key);

}  // namespace trainx::recipe
