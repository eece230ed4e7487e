#include "tokenizer/charsmap.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include <array>
#include <cstring>

namespace trainx::tokenizer {
namespace {

/// Strict: the alphabet of RFC 4648, padded, no line breaks. Nothing where it is not so.
std::optional<std::string> from_base64(std::string_view text) {
  static const auto values = [] {
    constexpr std::string_view base64_digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<int, 256> out{};
    out.fill(-1);
    for (std::size_t i = 0; i < base64_digits.size(); ++i)
      out[static_cast<unsigned char>(base64_digits[i])] = static_cast<int>(i);
    return out;
  }();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return out;
}

// Fields of a unit, as the library darts-clone lays them out.
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) == 1; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7fffffff; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000ff; }
std::size_t offset_of(std::uint32_t unit) {
  return static_cast<std::size_t>(unit >> 10) << ((unit & 0x200) >> 6);
}

}  // namespace

Charsmap::Charsmap(const std::string& encoded, std::string place) : place_(std::move(place)) {
  const auto bytes = from_base64(encoded);
  if (!bytes) refuse("is not base64");
  std::uint32_t trie_bytes = 0;
  if (bytes->size() < sizeof trie_bytes) refuse("is cut off");
  std::memcpy(&trie_bytes, bytes->data(), sizeof trie_bytes);  // little-endian, as the machine
  if (trie_bytes > bytes->size() - sizeof trie_bytes) refuse("is cut off");
  units_.resize(trie_bytes / sizeof(std::uint32_t));
  if (units_.empty()) refuse("has no trie");
  std::memcpy(units_.data(), bytes->data() + sizeof trie_bytes,
              units_.size() * sizeof(std::uint32_t));
  replacements_ = bytes->substr(sizeof trie_bytes + units_.size() * sizeof(std::uint32_t));
  if (!is_utf8(replacements_)) refuse("has replacements that are not UTF-8");
}

void Charsmap::refuse(const std::string& what) const {
  throw UserError(ExitCode::bad_data,
                  place_ + " " + what + ": take the file again from its source");
}

std::uint32_t Charsmap::unit(std::size_t at) const {
  if (at >= units_.size()) refuse("has a trie that points out of its table");
  return units_[at];
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::size_t node = offset_of(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    const std::uint32_t here = unit(node);
    if (label_of(here) != byte) return std::nullopt;
    node ^= offset_of(here);
    if (!has_value(here)) continue;
    const std::size_t begin = value_of(unit(node));
    if (begin > replacements_.size() ||
        (begin < replacements_.size() &&
         (static_cast<unsigned char>(replacements_[begin]) & 0xc0) == 0x80))
      refuse("has a key whose replacement does not begin a character");
    const std::size_t end = replacements_.find('\0', begin);
    return std::string_view(replacements_).substr(begin, end - begin);
  }
  return std::nullopt;
}

}  // namespace trainx::tokenizer
