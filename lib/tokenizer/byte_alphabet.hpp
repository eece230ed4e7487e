#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainx::tokenizer {

/// GPT-2's characters for bytes (Radford et al. 2019): printable Latin-1 is itself, the others are
/// U+0100 and on.
std::uint32_t character_of_byte(unsigned char byte);
std::optional<unsigned char> byte_of_character(std::uint32_t character);
std::string in_byte_alphabet(std::string_view bytes);
/// The bytes that a token of this alphabet means; nothing where it has other characters.
std::optional<std::string> from_byte_alphabet(std::string_view token);

}  // namespace trainx::tokenizer
