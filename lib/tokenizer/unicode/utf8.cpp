#include "tokenizer/unicode/utf8.hpp"

namespace trainx::tokenizer {
namespace {

/// Bytes at the front of `bytes` that are a sequence (`whole`) or the longest beginning of one; at
/// least 1.
std::size_t maximal_part(std::string_view bytes, bool& whole) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  whole = lead < 0x80;
  if (whole || lead < 0xc2 || lead > 0xf4) return 1;
  const std::size_t length = utf8_length(lead);
  for (std::size_t i = 1; i < length; ++i) {
    unsigned char low = 0x80, high = 0xbf;
    if (i == 1 && lead == 0xe0) low = 0xa0;
    if (i == 1 && lead == 0xed) high = 0x9f;
    if (i == 1 && lead == 0xf0) low = 0x90;
    if (i == 1 && lead == 0xf4) high = 0x8f;
    if (i >= bytes.size() || byte(i) < low || byte(i) > high) return i;
  }
  whole = true;
  return length;
}

}  // namespace

std::string with_replacements(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    bool whole = false;
    const std::size_t length = maximal_part(bytes, whole);
    if (whole)
      out.append(bytes.substr(0, length));
    else
      out.append("\xEF\xBF\xBD");
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace trainx::tokenizer
