#include "tokenizer/pattern/code_point_codes.hpp"

namespace trainx::tokenizer {

bool CodePointCodes::split_by(const CodePointSet& set) {
  std::array<int, 256> inside;
  std::array<bool, 256> outside_seen{};
  inside.fill(-1);
  // Where all of a code lies inside, it may stay; found out first.
  for (std::uint32_t c = 0; c < code_points; ++c)
    if (!set.contains(c)) outside_seen[code_of_[c]] = true;
  for (std::uint32_t c = 0; c < code_points; ++c) {
    if (!set.contains(c)) continue;
    const std::uint8_t code = code_of_[c];
    if (!outside_seen[code]) continue;
    if (inside[code] < 0) {
      if (count_ == 256) return false;
      inside[code] = count_++;
    }
    code_of_[c] = static_cast<std::uint8_t>(inside[code]);
  }
  return true;
}

CodePointCodes::Codes CodePointCodes::codes_of(const CodePointSet& set) const {
  Codes codes;
  for (std::uint32_t c = 0; c < code_points; ++c)
    if (set.contains(c)) codes.set(code_of_[c]);
  return codes;
}

void CodePointCodes::encode(std::string_view text, std::string& codes) const {
  codes.resize(text.size());
  char* out = codes.data();
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      *out++ = static_cast<char>(code_of_[byte]);
      ++at;
    } else {
      *out++ = static_cast<char>(code_of_[next_code_point(text, at)]);
    }
  }
  codes.resize(static_cast<std::size_t>(out - codes.data()));
}

}  // namespace trainx::tokenizer
