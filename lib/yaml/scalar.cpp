#include "yaml/scalar.hpp"
#include <algorithm>
#include <array>
#include <cstdio>

namespace trainx::yaml {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool all_of(std::string_view s, std::string_view set) {
  return s.find_first_not_of(set) == std::string_view::npos;
}

/// Numbers of YAML 1.1 and 1.2: 12, 010, 1_000, 0x1F, 0o17, 1.5, .5, 5., 1e-3, .inf, 12:30:45
/// (sixty-based), 2001-01-01 (a date).
bool looks_like_number(std::string_view s) {
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) s.remove_prefix(1);
  if (s.empty()) return false;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
    return all_of(s.substr(2), "0123456789abcdefABCDEF_");
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'o' || s[1] == 'b'))
    return all_of(s.substr(2), "01234567_");
  if (s[0] == '.' && s.size() == 4) {
    const std::string_view word = s.substr(1);
    for (const std::string_view w : {"inf", "Inf", "INF", "nan", "NaN", "NAN"})
      if (word == w) return true;
  }
  if (!is_digit(s[0]) && !(s[0] == '.' && s.size() > 1 && is_digit(s[1]))) return false;
  if (all_of(s, "0123456789_.:-")) return true;
  const std::size_t e = s.find_first_of("eE");
  if (e == std::string_view::npos || !all_of(s.substr(0, e), "0123456789_.")) return false;
  std::string_view exponent = s.substr(e + 1);
  if (!exponent.empty() && (exponent[0] == '+' || exponent[0] == '-')) exponent.remove_prefix(1);
  return !exponent.empty() && all_of(exponent, "0123456789");
}

constexpr std::array<std::string_view, 22> words{
    "null", "Null", "NULL", "~",  "true", "True", "TRUE", "false", "False", "FALSE", "yes",
    "Yes",  "YES",  "no",   "No", "NO",   "on",   "On",   "ON",    "off",   "Off",   "OFF"};

}  // namespace

bool reads_as_text(std::string_view plain) {
  return !plain.empty() && std::find(words.begin(), words.end(), plain) == words.end() &&
         !looks_like_number(plain);
}

std::string write_text(const std::string& text) {
  const auto is_safe = [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("_-./+").find(c) != std::string_view::npos;
  };
  const bool safe = reads_as_text(text) && text != "auto" && text != "none" && text[0] != '-' &&
                    text[0] != '+' && std::all_of(text.begin(), text.end(), is_safe) &&
                    text.find_first_not_of('.') != std::string::npos;
  if (safe) return text;
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else {
      out += text[i];
    }
  }
  return out + "\"";
}

}  // namespace trainx::yaml
