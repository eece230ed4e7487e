#include "core/number.hpp"
#include <charconv>
#include <cmath>
#include <system_error>

namespace trainx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where a run of digits that starts at `i` ends.
std::size_t after_digits(std::string_view s, std::size_t i) {
  while (i < s.size() && is_digit(s[i])) ++i;
  return i;
}

/// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_decimal(std::string_view s, bool integer_only) {
  std::size_t i = !s.empty() && s[0] == '-' ? 1 : 0;
  const std::size_t digits = i;
  i = after_digits(s, i);
  if (i == digits || (s[digits] == '0' && i > digits + 1)) return false;
  if (integer_only) return i == s.size();
  if (i < s.size() && s[i] == '.') {
    const std::size_t end = after_digits(s, i + 1);
    if (end == i + 1) return false;
    i = end;
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    std::size_t start = i + 1;
    if (start < s.size() && (s[start] == '+' || s[start] == '-')) ++start;
    i = after_digits(s, start);
    if (i == start) return false;
  }
  return i == s.size();
}

}  // namespace

std::string shortest(double x) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  std::string text(buffer, end);
  // "6e-04" -> "6e-4", "1e+20" -> "1e20"
  if (const std::size_t e = text.find('e'); e != std::string::npos) {
    std::size_t digits = e + 1;
    if (text[digits] == '+')
      text.erase(digits, 1);
    else if (text[digits] == '-')
      ++digits;
    while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  }
  return text;
}

std::optional<double> parse_decimal(std::string_view text) {
  if (!is_decimal(text, false)) return std::nullopt;
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(x))
    return std::nullopt;
  return x;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (!is_decimal(text, true)) return std::nullopt;
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace trainx
