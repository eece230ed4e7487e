#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace trainx::tokenizer {

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// `text` (UTF-8) in a Unicode normal form (UAX #15), as the reference's tables have it.
std::string normalize(std::string_view text, NormalForm form);
/// In lower case, each code point by itself: a final sigma is no other one.
std::string lowercase(std::string_view text);

}  // namespace trainx::tokenizer
