#include "jinja/field_format.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace trainx::jinja {
namespace {

std::string digits_of(std::uint64_t value, unsigned base, bool capital) {
  const char* letters = capital ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do out.insert(out.begin(), letters[value % base]);
  while ((value /= base) > 0);
  return out;
}

std::string real_digits(double value, const FormatSpec& spec) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  std::string pattern = spec.alternate ? "%#.*" : "%.*";
  pattern.push_back(spec.type);
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  const int size = std::snprintf(nullptr, 0, pattern.c_str(), precision, value);
  std::string out(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), pattern.c_str(), precision, value);
  out.pop_back();
  return out;
}

void add_commas(std::string& digits) {
  std::size_t end = 0;
  while (end < digits.size() && digits[end] >= '0' && digits[end] <= '9') ++end;
  for (std::size_t at = end; at > 3;) digits.insert(at -= 3, ",");
}

}  // namespace

std::int64_t read_width(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] < '0' || text[at] > '9') return -1;
  std::int64_t out = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    out = std::min<std::int64_t>(out * 10 + (text[at] - '0'), std::int64_t{1} << 40);
  return out;
}

std::string number_text(const Value& value, const FormatSpec& spec) {
  if (spec.precision > 1000) fail("a number is written with more than 1000 digits");
  const bool real = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos;
  bool negative = false;
  std::string digits;
  if (real) {
    negative = std::signbit(value.as_real()) && !std::isnan(value.as_real());
    digits = real_digits(std::abs(value.as_real()), spec);
  } else {
    const std::int64_t whole = value.as_integer();
    negative = whole < 0;
    const auto size = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(whole)
                               : static_cast<std::uint64_t>(whole);
    const unsigned base = spec.type == 'x' || spec.type == 'X' ? 16
                          : spec.type == 'o'                   ? 8
                          : spec.type == 'b'                   ? 2
                                                               : 10;
    digits = digits_of(size, base, spec.type == 'X');
    if (spec.alternate && base != 10) digits = std::string("0") + spec.type + digits;
  }
  if (spec.commas) add_commas(digits);
  const std::string sign = negative ? "-" : spec.sign ? std::string(1, spec.sign) : "";
  return sign + digits;
}

std::string padded_text(Runtime& runtime, const std::string& text, const FormatSpec& spec,
                        bool number) {
  const auto size = static_cast<std::int64_t>(count_code_points(text));
  if (spec.width <= size) return text;
  const auto missing = static_cast<std::size_t>(spec.width - size);
  runtime.budget.take(missing * spec.fill.size());
  const char align = spec.align ? spec.align : number ? '>' : '<';
  const std::size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const auto fill = [&](std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += spec.fill;
    return out;
  };
  if (align == '=') {
    const std::size_t sign = !text.empty() &&
                             std::string_view("+- ").find(text[0]) != std::string_view::npos;
    return text.substr(0, sign) + fill(missing) + text.substr(sign);
  }
  return fill(before) + text + fill(missing - before);
}

}  // namespace trainx::jinja
