#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include <array>

namespace trainx::tokenizer {
namespace {

constexpr bool is_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<std::uint16_t, 256> characters{};
  std::array<std::int16_t, 0x144> bytes{};
  constexpr Alphabet() {
    bytes.fill(-1);
    std::uint16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      characters[byte] = is_itself(byte) ? static_cast<std::uint16_t>(byte) : next++;
      bytes[characters[byte]] = static_cast<std::int16_t>(byte);
    }
  }
};
constexpr Alphabet alphabet;

}  // namespace

std::uint32_t character_of_byte(unsigned char byte) { return alphabet.characters[byte]; }

std::optional<unsigned char> byte_of_character(std::uint32_t character) {
  if (character >= alphabet.bytes.size() || alphabet.bytes[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(alphabet.bytes[character]);
}

std::string in_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(character_of_byte(static_cast<unsigned char>(c)), out);
  return out;
}

std::optional<std::string> from_byte_alphabet(std::string_view token) {
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    const auto byte = byte_of_character(next_code_point(token, at));
    if (!byte) return std::nullopt;
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

}  // namespace trainx::tokenizer
