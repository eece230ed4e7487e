#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace trainx::data::text {

/// Offset of the first byte that begins no well-formed UTF-8 sequence (Unicode 15, table 3-7: no
/// overlong forms, no surrogates); nothing if all is well.
std::optional<std::size_t> find_malformed_utf8(std::span<const std::byte> bytes);

}  // namespace trainx::data::text
