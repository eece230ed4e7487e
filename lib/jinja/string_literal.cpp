#include "jinja/string_literal.hpp"
#include "jinja/error.hpp"
#include "jinja/unicode.hpp"
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace trainx::jinja {
namespace {

/// A number of `size` digits. Throws if there are fewer.
char32_t code_of(std::string_view digits, std::size_t size, int base) {
  std::uint32_t value = 0;
  if (digits.size() < size) throw TemplateError(Problem::syntax, "an escape in a text is cut off");
  const char* end = digits.data() + size;
  const auto read = std::from_chars(digits.data(), end, value, base);
  if (read.ec != std::errc() || read.ptr != end)
    throw TemplateError(Problem::syntax, "an escape in a text has no digits");
  if (value > 0x10ffff) throw TemplateError(Problem::syntax, "an escape names no character");
  if (value >= 0xd800 && value <= 0xdfff) unsupported("half of a surrogate pair in a text");
  return value;
}

/// Python turns letters beyond ASCII into escapes first: a backslash before one stays.
std::string as_escaped(char32_t point) {
  char out[16];
  if (point < 0x100)
    std::snprintf(out, sizeof out, "x%02x", static_cast<unsigned>(point));
  else if (point < 0x10000)
    std::snprintf(out, sizeof out, "u%04x", static_cast<unsigned>(point));
  else
    std::snprintf(out, sizeof out, "U%08x", static_cast<unsigned>(point));
  return out;
}

}  // namespace

std::string unescape(std::string_view literal) {
  static constexpr std::string_view letters = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
  std::string out;
  for (std::size_t at = 0; at < literal.size();) {
    if (literal[at] != '\\' || at + 1 == literal.size()) {
      out.push_back(literal[at++]);
      continue;
    }
    const char c = literal[at + 1];
    at += 2;
    const std::size_t size = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (const std::size_t known = letters.find(c); known != std::string_view::npos) {
      out.push_back(meanings[known]);
    } else if (c == '\n') {
      continue;
    } else if (size > 0) {
      append_code_point(code_of(literal.substr(at), size, 16), out);
      at += size;
    } else if (c >= '0' && c <= '7') {
      std::size_t count = 1;
      while (count < 3 && at - 1 + count < literal.size() && literal[at - 1 + count] >= '0' &&
             literal[at - 1 + count] <= '7')
        ++count;
      append_code_point(code_of(literal.substr(at - 1), count, 8), out);
      at += count - 1;
    } else if (c == 'N') {
      unsupported("\\N in a text");
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      const auto [point, bytes] = code_point_at(literal, at - 1);
      out += "\\" + as_escaped(point);
      at += bytes - 1;
    } else {
      out += {'\\', c};
    }
  }
  return out;
}

}  // namespace trainx::jinja
