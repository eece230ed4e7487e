// str's methods.
#include "jinja/bound.hpp"
#include "jinja/runtime.hpp"
#include "jinja/text_parts.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <functional>
#include <map>

namespace trainx::jinja {
namespace {

using Method = std::function<Value(Runtime&, const Value&, const Arguments&)>;

/// A method without arguments that gives a text.
Method changed(std::string (*change)(std::string_view)) {
  return [change](Runtime& runtime, const Value& text, const Arguments& a) {
    const Bound none("the method", a, {});
    return made_text(runtime, change(text.as_text()));
  };
}

Method stripped(bool left, bool right) {
  return [left, right](Runtime& runtime, const Value& text, const Arguments& a) {
    const Bound b("strip", a, {"chars"});
    const std::string chars = b.given(0) ? b.text(0) : "";
    return made_text(
        runtime, std::string(strip(text.as_text(), left, right, b.given(0) ? &chars : nullptr)));
  };
}

Method with_end(bool begin) {
  return [begin](Runtime& runtime, const Value& text, const Arguments& a) {
    const Bound b(begin ? "startswith" : "endswith", a, {"prefix", "start", "end"}, 1);
    Value part = text;
    if (b.has(1))
      part = slice_of(runtime, text, b[1], b.has(2) ? b[2] : Value::none(), Value::none());
    const auto matches = [&](const Value& one) {
      const std::string& end = need_text(one, "startswith or endswith");
      return begin ? part.as_text().starts_with(end) : part.as_text().ends_with(end);
    };
    if (b[0].is(Kind::tuple)) return Value::boolean(std::ranges::any_of(b[0].items(), matches));
    return Value::boolean(matches(b[0]));
  };
}

Method found(bool last, bool must) {
  return [last, must](Runtime&, const Value& text, const Arguments& a) {
    const Bound b("find", a, {"sub", "start", "end"}, 1);
    if (b.has(2)) unsupported("the end of find");
    const std::string& whole = text.as_text();
    std::int64_t start = b.integer(1);
    if (start < 0) start = std::max<std::int64_t>(0, start + length_of(text));
    const std::size_t from = byte_of(whole, static_cast<std::size_t>(start));
    const std::size_t at = last ? whole.rfind(b.text(0)) : whole.find(b.text(0), from);
    if (at == std::string::npos || at < from || start > length_of(text)) {
      if (must) fail("substring not found");
      return Value::integer(-1);
    }
    return Value::integer(
        static_cast<std::int64_t>(count_code_points(std::string_view(whole).substr(0, at))));
  };
}

/// ljust, rjust and center.
Method padded(bool left, bool right) {
  return [left, right](Runtime& runtime, const Value& text, const Arguments& a) {
    const Bound b("just", a, {"width", "fillchar"}, 1);
    const std::string fill = b.text(1, " ");
    if (count_code_points(fill) != 1) fail("the fill character must be one character");
    const std::int64_t missing = std::max<std::int64_t>(0, b.integer(0) - length_of(text));
    const std::int64_t width = missing + length_of(text);
    const std::int64_t before = left && right ? missing / 2 + (missing & width & 1)
                                : left        ? missing
                                              : 0;
    runtime.budget.take(static_cast<std::size_t>(missing) * fill.size());
    std::string out;
    for (std::int64_t i = 0; i < before; ++i) out += fill;
    out += text.as_text();
    for (std::int64_t i = before; i < missing; ++i) out += fill;
    return made_text(runtime, std::move(out));
  };
}

template <class Is>
Method all_points(Is is) {
  return [is](Runtime&, const Value& text, const Arguments& a) {
    const Bound none("the method", a, {});
    const std::string& bytes = text.as_text();
    for (std::size_t at = 0; at < bytes.size();) {
      const auto [point, size] = code_point_at(bytes, at);
      if (!is(point)) return Value::boolean(false);
      at += size;
    }
    return Value::boolean(!bytes.empty());
  };
}

/// isupper and islower: some letters have a case, and none the other.
Method cased(bool upper) {
  return [upper](Runtime&, const Value& text, const Arguments& a) {
    const Bound none("the method", a, {});
    return Value::boolean(has_case(text.as_text(), upper));
  };
}

bool is_digit_point(char32_t point) {
  if (is_decimal(point)) return true;
  if (is_other_number(point)) unsupported("isdigit or isnumeric of a number that has no digits");
  return false;
}

Value split_method(Runtime& runtime, const Value& text, const Arguments& a, bool right) {
  const Bound b("split", a, {"sep", "maxsplit"});
  const std::int64_t most = b.integer(1, -1);
  const std::string separator = b.given(0) ? b.text(0) : "";
  if (b.given(0) && separator.empty()) fail("empty separator");
  Items out;
  runtime.budget.take(text.as_text().size());
  for (std::string& part : split(text.as_text(), b.given(0) ? &separator : nullptr, most, right))
    out.push_back(made_text(runtime, std::move(part)));
  return made_list(runtime, std::move(out));
}

Value partition(Runtime& runtime, const Value& text, const Arguments& a, bool right) {
  const Bound b("partition", a, {"sep"}, 1);
  const std::string separator = b.text(0);
  if (separator.empty()) fail("empty separator");
  const std::string& whole = text.as_text();
  const std::size_t at = right ? whole.rfind(separator) : whole.find(separator);
  runtime.budget.take(whole.size());
  const Value empty = Value::text("");
  if (at == std::string::npos)
    return right ? Value::tuple({empty, empty, text}) : Value::tuple({text, empty, empty});
  return Value::tuple({Value::text(whole.substr(0, at)), Value::text(separator),
                       Value::text(whole.substr(at + separator.size()))});
}

Value join_method(Runtime& runtime, const Value& text, const Arguments& a) {
  const Bound b("join", a, {"iterable"}, 1);
  std::string out;
  bool first = true;
  for (const Value& one : iterate(runtime, b[0])) {
    if (!one.is_text()) fail("join takes texts, not " + type_name(one));
    if (!std::exchange(first, false)) out += text.as_text();
    out += one.as_text();
    runtime.budget.take(text.as_text().size() + one.as_text().size());
  }
  return Value::text(std::move(out));
}

Value without(Runtime& runtime, const Value& text, const Arguments& a, bool prefix) {
  const Bound b(prefix ? "removeprefix" : "removesuffix", a, {"part"}, 1);
  std::string whole = text.as_text();
  const std::string part = b.text(0);
  if (prefix ? whole.starts_with(part) : !part.empty() && whole.ends_with(part))
    whole.erase(prefix ? 0 : whole.size() - part.size(), part.size());
  return made_text(runtime, std::move(whole));
}

Value zero_filled(Runtime& runtime, const Value& text, const Arguments& a) {
  const Bound b("zfill", a, {"width"}, 1);
  std::string out = text.as_text();
  const auto missing =
      static_cast<std::size_t>(std::max<std::int64_t>(0, b.integer(0) - length_of(text)));
  runtime.budget.take(missing);
  const bool sign = !out.empty() && (out[0] == '+' || out[0] == '-');
  out.insert(sign ? 1 : 0, missing, '0');
  return made_text(runtime, std::move(out));
}

std::map<std::string, Method> make_methods() {
  std::map<std::string, Method> out;
  out["upper"] = changed(to_upper);
  out["lower"] = changed(to_lower);
  out["title"] = changed(to_title);
  out["capitalize"] = changed(to_capitalized);
  out["strip"] = stripped(true, true);
  out["lstrip"] = stripped(true, false);
  out["rstrip"] = stripped(false, true);
  out["startswith"] = with_end(true);
  out["endswith"] = with_end(false);
  out["find"] = found(false, false);
  out["rfind"] = found(true, false);
  out["index"] = found(false, true);
  out["rindex"] = found(true, true);
  out["ljust"] = padded(false, true);
  out["rjust"] = padded(true, false);
  out["center"] = padded(true, true);
  out["isspace"] = all_points(is_space);
  out["isalpha"] = all_points(is_alphabetic);
  out["isdecimal"] = all_points(is_decimal);
  out["isdigit"] = out["isnumeric"] = all_points(is_digit_point);
  out["isalnum"] =
      all_points([](char32_t p) { return is_alphabetic(p) || is_decimal(p) || is_digit_point(p); });
  out["isupper"] = cased(true);
  out["islower"] = cased(false);
  out["isascii"] = [](Runtime&, const Value& text, const Arguments&) {
    return Value::boolean(std::ranges::all_of(
        text.as_text(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  };
  out["split"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return split_method(r, text, a, false);
  };
  out["rsplit"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return split_method(r, text, a, true);
  };
  out["splitlines"] = [](Runtime& r, const Value& text, const Arguments& a) {
    const Bound b("splitlines", a, {"keepends"});
    Items lines;
    for (std::string& line : split_lines(text.as_text(), b.truth(0)))
      lines.push_back(made_text(r, std::move(line)));
    return made_list(r, std::move(lines));
  };
  out["partition"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return partition(r, text, a, false);
  };
  out["rpartition"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return partition(r, text, a, true);
  };
  out["join"] = join_method;
  out["replace"] = [](Runtime& r, const Value& text, const Arguments& a) {
    const Bound b("replace", a, {"old", "new", "count"}, 2);
    return Value::text(replace(r.budget, text.as_text(), b.text(0), b.text(1), b.integer(2, -1)));
  };
  out["count"] = [](Runtime& r, const Value& text, const Arguments& a) {
    const Bound b("count", a, {"sub"}, 1);
    r.budget.take(text.as_text().size());
    return Value::integer(count(text.as_text(), b.text(0)));
  };
  out["removeprefix"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return without(r, text, a, true);
  };
  out["removesuffix"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return without(r, text, a, false);
  };
  out["zfill"] = zero_filled;
  out["format"] = [](Runtime& r, const Value& text, const Arguments& a) {
    return made_text(r, format_braces(r, text.as_text(), a));
  };
  for (const char* name : {"casefold", "encode", "expandtabs", "format_map", "isidentifier",
                           "isprintable", "istitle", "maketrans", "swapcase", "translate"})
    out[name] = [name](Runtime&, const Value&, const Arguments&) -> Value {
      unsupported(std::string("the method ") + name + " of a text");
    };
  return out;
}

}  // namespace

Value text_method(const Value& text, const std::string& name) {
  static const std::map<std::string, Method> methods = make_methods();
  const auto method = methods.find(name);
  if (method == methods.end()) return {};
  const Method& run = method->second;
  return make_callable([text, &run](Runtime& runtime, const Arguments& a) {
    runtime.budget.take(text.as_text().size() / 8);
    Value out = run(runtime, text, a);
    return text.is_safe() && out.is_text() ? Value::safe_text(out.as_text()) : out;
  });
}

}  // namespace trainx::jinja
