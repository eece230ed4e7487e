#include "jinja/bound.hpp"
#include "jinja/filters.hpp"
#include "jinja/unicode.hpp"
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <optional>

namespace trainx::jinja {
namespace {

/// Digits with single underscores between them, which Python takes; nothing otherwise.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<double> real_of_text(const std::string& text) {
  const auto digits = without_underscores(strip(text, true, true));
  if (!digits || digits->empty()) return std::nullopt;
  const bool sign = (*digits)[0] == '+' || (*digits)[0] == '-';
  const std::string_view number = std::string_view(*digits).substr(sign);
  const std::string word = to_lower(number);
  double out = 0;
  if (word == "inf" || word == "infinity") {
    out = HUGE_VAL;
  } else if (word == "nan") {
    out = NAN;
  } else {
    if (number.empty() || number.find_first_not_of("0123456789.eE+-") != std::string::npos)
      return std::nullopt;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), out);
    if (read.ptr != number.data() + number.size()) return std::nullopt;
    if (read.ec == std::errc::result_out_of_range)
      out = std::strtod(std::string(number).c_str(), nullptr);
    else if (read.ec != std::errc())
      return std::nullopt;
  }
  return (*digits)[0] == '-' ? -out : out;
}

std::optional<std::int64_t> integer_of_text(const std::string& text, int base) {
  const auto digits = without_underscores(strip(text, true, true));
  if (!digits || digits->empty()) return std::nullopt;
  std::string_view number = *digits;
  if (number[0] == '+') number.remove_prefix(1);
  if (number.empty() || number[0] == '+') return std::nullopt;
  std::int64_t out = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), out, base);
  if (read.ec == std::errc::result_out_of_range) unsupported("a whole number beyond 64 bits");
  if (read.ec != std::errc() || read.ptr != number.data() + number.size()) return std::nullopt;
  return out;
}

std::optional<Value> integer_of_real(double value) {
  if (std::isnan(value) || std::isinf(value)) return std::nullopt;
  if (std::abs(value) >= 9.2e18) unsupported("a whole number beyond 64 bits");
  return Value::integer(static_cast<std::int64_t>(value));
}

Value int_filter(Runtime&, const Value& value, const Arguments& a) {
  const Bound b("int", a, {"default", "base"});
  const Value otherwise = b.has(0) ? b[0] : Value::integer(0);
  if (value.is_integer()) return Value::integer(value.as_integer());
  if (value.is(Kind::real)) {
    if (std::isinf(value.as_real())) fail("cannot convert float infinity to integer");
    return integer_of_real(value.as_real()).value_or(otherwise);
  }
  if (!value.is_text()) return otherwise;
  const std::int64_t base = b.integer(1, 10);
  if (base != 10 && base != 2 && base != 8 && base != 16) unsupported("this base of int");
  if (base != 10 && value.as_text().size() > 1 && value.as_text()[0] == '0' &&
      value.as_text()[1] > '9')
    unsupported("a prefix of a number for int");
  if (const auto whole = integer_of_text(value.as_text(), static_cast<int>(base)))
    return Value::integer(*whole);
  if (const auto real = real_of_text(value.as_text()))
    return integer_of_real(*real).value_or(otherwise);
  return otherwise;
}

Value float_filter(Runtime&, const Value& value, const Arguments& a) {
  const Bound b("float", a, {"default"});
  const Value otherwise = b.has(0) ? b[0] : Value::real(0);
  if (value.is_number()) return Value::real(value.as_real());
  if (!value.is_text()) return otherwise;
  const auto real = real_of_text(value.as_text());
  return real ? Value::real(*real) : otherwise;
}

Value round_filter(Runtime&, const Value& value, const Arguments& a) {
  const Bound b("round", a, {"precision", "method"});
  if (!value.is_number()) fail("round takes a number, not " + type_name(value));
  const std::int64_t precision = b.integer(0);
  const std::string method = b.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor")
    fail("method must be common, ceil or floor");
  if (precision > 300 || precision < -300) fail("round takes a precision of up to 300");
  const double power = std::pow(10.0, static_cast<double>(precision));
  if (method != "common") {
    const double scaled = value.as_real() * power;
    return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / power);
  }
  if (value.is_integer()) {
    if (precision < 0) unsupported("round of a whole number to tens");
    return Value::integer(value.as_integer());
  }
  if (precision < 0) unsupported("round to tens");
  if (std::isnan(value.as_real()) || std::isinf(value.as_real())) return value;
  char out[700];
  std::snprintf(out, sizeof out, "%.*f", static_cast<int>(precision), value.as_real());
  return Value::real(std::strtod(out, nullptr));
}

Value abs_filter(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("abs", a, {});
  if (value.is(Kind::real)) return Value::real(std::abs(value.as_real()));
  if (!value.is_integer()) fail("bad operand type for abs(): '" + type_name(value) + "'");
  return value.as_integer() < 0 ? unary(runtime, "-", value) : unary(runtime, "+", value);
}

Value sum_filter(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("sum", a, {"attribute", "start"});
  const AttributePath path = b.given(0) ? AttributePath(b[0]) : AttributePath();
  Value out = b.has(1) ? b[1] : Value::integer(0);
  if (out.is_text()) fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& one : iterate(runtime, value))
    out = arithmetic(runtime, "+", out, path.of(runtime, one));
  return out;
}

Value filesizeformat(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("filesizeformat", a, {"binary"});
  const auto read = value.is_text()     ? real_of_text(value.as_text())
                    : value.is_number() ? std::optional(value.as_real())
                                        : std::nullopt;
  if (!read) fail("filesizeformat takes a number");
  const double bytes = *read, base = b.truth(0) ? 1024 : 1000;
  if (bytes == 1) return Value::text("1 Byte");
  if (bytes < base) return Value::text(to_text(runtime, *integer_of_real(bytes)) + " Bytes");
  std::string prefixes = "kMGTPEZY";
  if (b.truth(0)) prefixes[0] = 'K';
  double unit = base;
  std::size_t which = 0;
  for (; which + 1 < prefixes.size() && bytes >= unit * base; ++which) unit *= base;
  char out[400];
  std::snprintf(out, sizeof out, "%.1f %c%s", base * bytes / (unit * base), prefixes[which],
                b.truth(0) ? "iB" : "B");
  return Value::text(out);
}

}  // namespace

void add_number_filters(Filters& filters) {
  filters["int"] = int_filter;
  filters["float"] = float_filter;
  filters["round"] = round_filter;
  filters["abs"] = abs_filter;
  filters["sum"] = sum_filter;
  filters["filesizeformat"] = filesizeformat;
}

}  // namespace trainx::jinja
