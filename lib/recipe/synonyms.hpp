// Keys that people look for in the wrong place or by another tool's name.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace trainx::recipe {

/// The dotted key that was probably meant by the unknown `key` of section `section` ("" at the top): another tool's name for it, or the same
/// key in another section. With a hint of how to write it where the value is written differently too.
std::optional<std::string> key_meant(std::string_view section, std::string_view key);

}  // namespace trainx::recipe
