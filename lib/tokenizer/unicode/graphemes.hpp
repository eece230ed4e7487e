#pragma once
#include <cstddef>
#include <string_view>

namespace trainx::tokenizer {

/// Where the grapheme that begins at byte `begin` of well-formed UTF-8 ends: extended grapheme
/// clusters (UAX #29), as the reference's tables have them.
std::size_t grapheme_end(std::string_view text, std::size_t begin);

}  // namespace trainx::tokenizer
