// Well-formed UTF-8, code point by code point.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace trainx::tokenizer {

constexpr std::uint32_t code_points = 0x110000;

constexpr std::size_t utf8_length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// The code point at `at`, which moves on to the next.
inline std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const std::uint32_t lead = byte(0);
  std::uint32_t c = lead;
  std::size_t length = 1;
  if (lead >= 0xf0) {
    c = (lead & 7) << 18 | (byte(1) & 63) << 12 | (byte(2) & 63) << 6 | (byte(3) & 63);
    length = 4;
  } else if (lead >= 0xe0) {
    c = (lead & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63);
    length = 3;
  } else if (lead >= 0x80) {
    c = (lead & 31) << 6 | (byte(1) & 63);
    length = 2;
  }
  at += length;
  return c;
}

inline void append_utf8(std::uint32_t c, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 63));
    }
    put(0x80 | (c >> 6 & 63));
  }
  put(0x80 | (c & 63));
}

inline bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

inline std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

/// The text with what is no well-formed UTF-8 replaced by U+FFFD, one for each maximal part of a
/// sequence (Unicode 15, section 3.9).
std::string with_replacements(std::string_view bytes);

}  // namespace trainx::tokenizer
