// Python's `text % values` and str.format.
#include "jinja/bound.hpp"
#include "jinja/field_format.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::jinja {
namespace {

class PercentFormat {
 public:
  PercentFormat(Runtime& runtime, const std::string& pattern, const Value& values)
      : runtime_(runtime), pattern_(pattern), values_(values) {}

  std::string write() {
    std::string out;
    while (at_ < pattern_.size()) {
      if (pattern_[at_] != '%') {
        out.push_back(pattern_[at_++]);
        continue;
      }
      ++at_;
      out += one();
    }
    const bool several = values_.is(Kind::tuple);
    if (!values_.is(Kind::dict) && used_ < (several ? values_.items().size() : 1))
      fail("not all arguments converted during string formatting");
    return out;
  }

 private:
  char next() {
    if (at_ >= pattern_.size()) fail("incomplete format");
    return pattern_[at_++];
  }
  Value argument() {
    if (!key_.empty()) return item_of(runtime_, values_, Value::text(key_));
    const bool several = values_.is(Kind::tuple);
    if (used_ >= (several ? values_.items().size() : 1))
      fail("not enough arguments for format string");
    return several ? values_.items()[used_++] : (++used_, values_);
  }
  std::string one() {
    FormatSpec spec;
    key_.clear();
    if (at_ < pattern_.size() && pattern_[at_] == '(') {
      const std::size_t end = pattern_.find(')', at_);
      if (end == std::string::npos) fail("incomplete format key");
      if (!values_.is(Kind::dict)) fail("format requires a mapping");
      key_ = pattern_.substr(at_ + 1, end - at_ - 1);
      if (!values_.as<Dict>().find(std::string_view(key_))) fail("KeyError: '" + key_ + "'");
      at_ = end + 1;
    }
    for (;; ++at_) {
      const char c = at_ < pattern_.size() ? pattern_[at_] : 0;
      if (c == '-')
        spec.align = '<';
      else if (c == '+' || (c == ' ' && spec.sign != '+'))
        spec.sign = c;
      else if (c == '0')
        spec.zero = true;
      else if (c == '#')
        spec.alternate = true;
      else
        break;
    }
    if (at_ < pattern_.size() && pattern_[at_] == '*') unsupported("* in a format");
    spec.width = std::max<std::int64_t>(0, read_width(pattern_, at_));
    if (at_ < pattern_.size() && pattern_[at_] == '.') {
      ++at_;
      spec.precision = std::max<std::int64_t>(0, read_width(pattern_, at_));
    }
    spec.type = next();
    return converted(spec);
  }
  std::string converted(FormatSpec spec) {
    if (spec.type == '%') return "%";
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'c') {
      const Value value = argument();
      if (spec.type == 'c') unsupported("%c in a format");
      std::string text = spec.type == 's' ? to_text(runtime_, value) : to_repr(runtime_, value);
      if (spec.precision >= 0) text.resize(byte_of(text, static_cast<std::size_t>(spec.precision)));
      if (!spec.align) spec.align = '>';
      return padded_text(runtime_, text, spec, false);
    }
    const bool real = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos;
    if (!real && std::string_view("diuxXo").find(spec.type) == std::string_view::npos)
      fail(std::string("unsupported format character '") + spec.type + "'");
    Value value = argument();
    if (!value.is_number()) fail("a number is required, not " + type_name(value));
    if (!real && value.is(Kind::real)) {
      if (spec.type == 'x' || spec.type == 'X' || spec.type == 'o')
        fail("an integer is required, not float");
      if (!(std::abs(value.as_real()) < 9e18)) unsupported("a whole number beyond 64 bits");
      value = Value::integer(static_cast<std::int64_t>(value.as_real()));
    }
    if (!real && spec.precision >= 0) unsupported("a precision of a whole number");
    if (spec.zero && spec.align != '<') {
      spec.align = '=';
      spec.fill = "0";
    }
    return padded_text(runtime_, number_text(value, spec), spec, true);
  }

  Runtime& runtime_;
  const std::string& pattern_;
  const Value& values_;
  std::size_t at_ = 0, used_ = 0;
  std::string key_;
};

FormatSpec read_spec(const std::string& text) {
  FormatSpec spec;
  std::size_t at = 0;
  const auto is_align = [&](std::size_t i) {
    return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
  };
  const std::size_t first = text.empty() ? 0 : code_point_at(text, 0).second;
  if (is_align(first) && first > 0) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (is_align(0)) {
    spec.align = text[at++];
  }
  const auto skip = [&](char c) { return at < text.size() && text[at] == c && ++at > 0; };
  if (skip('+'))
    spec.sign = '+';
  else if (skip(' '))
    spec.sign = ' ';
  else
    skip('-');
  spec.alternate = skip('#');
  if (skip('0') && !spec.align) {
    spec.align = '=';
    spec.fill = "0";
  }
  spec.width = std::max<std::int64_t>(0, read_width(text, at));
  spec.commas = skip(',');
  if (skip('.')) spec.precision = read_width(text, at);
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) fail("invalid format specifier '" + text + "'");
  return spec;
}

std::string formatted(Runtime& runtime, const Value& value, const std::string& text) {
  if (text.empty()) return to_text(runtime, value);
  FormatSpec spec = read_spec(text);
  if (value.is_text()) {
    if (spec.type && spec.type != 's') fail("unknown format code for a text");
    std::string out = value.as_text();
    if (spec.precision >= 0) out.resize(byte_of(out, static_cast<std::size_t>(spec.precision)));
    return padded_text(runtime, out, spec, false);
  }
  if (!value.is_number()) fail("unsupported format string for " + type_name(value));
  if (!spec.type) {
    if (value.is(Kind::real) || value.is(Kind::boolean) || spec.precision >= 0)
      unsupported("a format without a type for " + type_name(value));
    spec.type = 'd';
  }
  if (std::string_view("dxXobeEfFgG").find(spec.type) == std::string_view::npos)
    unsupported(std::string("the format code ") + spec.type);
  if (value.is(Kind::real) && std::string_view("dxXob").find(spec.type) != std::string_view::npos)
    fail(std::string("unknown format code '") + spec.type + "' for object of type 'float'");
  return padded_text(runtime, number_text(value, spec), spec, true);
}

class BraceFormat {
 public:
  BraceFormat(Runtime& runtime, const std::string& pattern, const Arguments& arguments)
      : runtime_(runtime), pattern_(pattern), arguments_(arguments) {}

  std::string write() {
    std::string out;
    for (std::size_t at = 0; at < pattern_.size(); ++at) {
      const char c = pattern_[at];
      const char behind = at + 1 < pattern_.size() ? pattern_[at + 1] : 0;
      if (c != '{' && c != '}') {
        out.push_back(c);
      } else if (behind == c) {
        out.push_back(c);
        ++at;
      } else {
        const std::size_t end = pattern_.find('}', at);
        if (c == '}' || end == std::string::npos) fail("a brace stands alone in a format");
        out += field(pattern_.substr(at + 1, end - at - 1));
        runtime_.budget.take(out.size() / 64);
        at = end;
      }
    }
    return out;
  }

 private:
  std::string field(const std::string& text) {
    if (text.find('{') != std::string::npos) unsupported("a format inside a format");
    const std::size_t colon = text.find(':');
    std::string name = text.substr(0, colon);
    const std::string spec = colon == std::string::npos ? "" : text.substr(colon + 1);
    char conversion = 0;
    if (name.size() >= 2 && name[name.size() - 2] == '!') {
      conversion = name.back();
      name.resize(name.size() - 2);
    }
    Value value = named(name);
    if (conversion == 'r')
      value = made_text(runtime_, to_repr(runtime_, value));
    else if (conversion == 's')
      value = made_text(runtime_, to_text(runtime_, value));
    else if (conversion)
      unsupported(std::string("the conversion !") + conversion);
    return formatted(runtime_, value, spec);
  }
  Value named(const std::string& name) {
    const std::size_t end = name.find_first_of(".[");
    Value value = first(name.substr(0, end));
    for (std::size_t at = end; at < name.size();) {
      const bool attribute = name[at] == '.';
      const std::size_t stop = attribute ? name.find_first_of(".[", at + 1) : name.find(']', at);
      if (!attribute && stop == std::string::npos) fail("a bracket stands alone in a format");
      const std::string part = name.substr(at + 1, stop - at - 1);
      std::size_t digits = 0;
      const std::int64_t index = attribute ? -1 : read_width(part, digits);
      value = attribute ? attribute_of(runtime_, value, part)
                        : item_of(runtime_, value,
                                  index >= 0 && digits == part.size() ? Value::integer(index)
                                                                      : Value::text(part));
      at = attribute ? stop : stop + 1;
    }
    return value;
  }
  Value first(const std::string& name) {
    std::size_t digits = 0;
    std::int64_t index = read_width(name, digits);
    if (name.empty()) index = next_++;
    if (index >= 0 && digits == name.size()) {
      if (static_cast<std::size_t>(index) >= arguments_.positional.size())
        fail("a format has more fields than arguments");
      return arguments_.positional[static_cast<std::size_t>(index)];
    }
    for (const auto& [key, value] : arguments_.named)
      if (key == name) return value;
    fail("KeyError: '" + name + "'");
  }

  Runtime& runtime_;
  const std::string& pattern_;
  const Arguments& arguments_;
  std::int64_t next_ = 0;
};

}  // namespace

std::string format_percent(Runtime& runtime, const std::string& pattern, const Value& values) {
  return PercentFormat(runtime, pattern, values).write();
}

std::string format_braces(Runtime& runtime, const std::string& pattern,
                          const Arguments& arguments) {
  return BraceFormat(runtime, pattern, arguments).write();
}

}  // namespace trainx::jinja
