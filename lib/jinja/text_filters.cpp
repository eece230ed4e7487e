#include "jinja/bound.hpp"
#include "jinja/filters.hpp"
#include "jinja/text_parts.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <utility>

namespace trainx::jinja {
namespace {

Value like(const Value& model, std::string bytes) {
  return model.is_safe() ? Value::safe_text(std::move(bytes)) : Value::text(std::move(bytes));
}

template <class Change>
Filter changing(const char* name, Change change) {
  return [name, change](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound none(name, a, {});
    std::string out = change(to_text(runtime, value));
    runtime.budget.take(out.size());
    return like(value, std::move(out));
  };
}

/// Words begin behind blanks, hyphens and opening brackets.
std::string title_of(const std::string& text) {
  std::string out;
  const auto begins = [](char32_t p) {
    return p == '-' || p == '(' || p == '{' || p == '[' || p == '<' || is_space(p);
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = code_point_at(text, at);
    std::size_t end = at + size;
    const bool between = begins(point);
    while (end < text.size()) {
      const auto [next, bytes] = code_point_at(text, end);
      if (begins(next) != between) break;
      end += bytes;
    }
    const std::string_view part = std::string_view(text).substr(at, end - at);
    out += to_upper(part.substr(0, size)) + to_lower(part.substr(size));
    at = end;
  }
  return out;
}

Value trim(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("trim", a, {"chars"});
  const std::string text = to_text(runtime, value), chars = b.given(0) ? b.text(0) : "";
  runtime.budget.take(text.size());
  return like(value, std::string(strip(text, true, true, b.given(0) ? &chars : nullptr)));
}

Value replaced(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("replace", a, {"old", "new", "count"}, 2);
  const std::int64_t most = b.given(2) ? b.integer(2) : -1;
  return Value::text(replace(runtime.budget, to_text(runtime, value), to_text(runtime, b[0]),
                             to_text(runtime, b[1]), most));
}

Value indented(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("indent", a, {"width", "first", "blank"});
  if (!value.is_text()) fail("indent takes a text, not " + type_name(value));
  std::string by;
  if (b.has(0) && b[0].is_text()) {
    by = b.text(0);
  } else {
    const std::int64_t width = std::max<std::int64_t>(0, b.integer(0, 4));
    runtime.budget.take(static_cast<std::size_t>(width));
    by.assign(static_cast<std::size_t>(width), ' ');
  }
  const auto lines = split_lines(value.as_text() + "\n", false);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool indents = i == 0 ? b.truth(1) : b.truth(2) || !lines[i].empty();
    runtime.budget.take(lines[i].size() + by.size() + 1);
    out += (i > 0 ? "\n" : "") + (indents ? by : "") + lines[i];
  }
  return like(value, std::move(out));
}

Value truncated(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("truncate", a, {"length", "killwords", "end", "leeway"});
  if (!value.is_text()) fail("truncate takes a text, not " + type_name(value));
  const std::string& text = value.as_text();
  const std::string end = b.text(2, "...");
  const std::int64_t length = b.integer(0, 255), leeway = b.given(3) ? b.integer(3) : 5;
  const auto room = length - static_cast<std::int64_t>(count_code_points(end));
  if (room < 0 || leeway < 0) fail("truncate has too small a length");
  if (length_of(value) <= length + leeway) return value;
  std::string out = text.substr(0, byte_of(text, static_cast<std::size_t>(room)));
  if (!b.truth(1)) out = out.substr(0, std::min(out.rfind(' '), out.size()));
  return made_text(runtime, out + end);
}

Value format_filter(Runtime& runtime, const Value& value, const Arguments& a) {
  if (!a.named.empty() && !a.positional.empty())
    fail("format can't handle positional and keyword arguments at the same time");
  Value values = Value::tuple(a.positional);
  if (!a.named.empty()) {
    auto dict = std::make_shared<Dict>();
    for (const auto& [name, one] : a.named) dict->set(name, one);
    values = make_dict(std::move(dict));
  }
  return made_text(runtime, format_percent(runtime, to_text(runtime, value), values));
}

Value centered(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("center", a, {"width"});
  const Value text = made_text(runtime, to_text(runtime, value));
  return runtime.call(text_method(text, "center"), {{Value::integer(b.integer(0, 80))}, {}});
}

Value word_count(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("wordcount", a, {});
  const std::string text = to_text(runtime, value);
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = code_point_at(text, at);
    const bool letter = point == '_' || is_alphabetic(point) || is_decimal(point) ||
                        is_other_number(point);
    words += letter && !inside;
    inside = letter;
    at += size;
  }
  return Value::integer(words);
}

Value joined(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("join", a, {"d", "attribute"});
  const std::string between = b.has(0) ? to_text(runtime, b[0]) : "";
  const AttributePath path = b.given(1) ? AttributePath(b[1]) : AttributePath();
  std::string out;
  bool first = true;
  for (const Value& one : iterate(runtime, value)) {
    if (!std::exchange(first, false)) out += between;
    const std::string text = to_text(runtime, path.of(runtime, one));
    runtime.budget.take(between.size() + text.size());
    out += text;
  }
  return Value::text(std::move(out));
}

}  // namespace

void add_text_filters(Filters& filters) {
  filters["upper"] = changing("upper", [](const std::string& t) { return to_upper(t); });
  filters["lower"] = changing("lower", [](const std::string& t) { return to_lower(t); });
  filters["capitalize"] =
      changing("capitalize", [](const std::string& t) { return to_capitalized(t); });
  filters["title"] = changing("title", title_of);
  filters["trim"] = trim;
  filters["replace"] = replaced;
  filters["indent"] = indented;
  filters["truncate"] = truncated;
  filters["format"] = format_filter;
  filters["center"] = centered;
  filters["join"] = joined;
  filters["wordcount"] = word_count;
  filters["string"] = [](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound none("string", a, {});
    return value.is_text() ? value : made_text(runtime, to_text(runtime, value));
  };
  filters["safe"] = [](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound none("safe", a, {});
    return Value::safe_text(to_text(runtime, value));
  };
  filters["escape"] = filters["e"] = [](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound none("escape", a, {});
    if (value.is_safe()) return value;
    runtime.budget.take(value.is_text() ? value.as_text().size() * 5 : 0);
    return Value::safe_text(escape_html(to_text(runtime, value)));
  };
  filters["forceescape"] = [](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound none("forceescape", a, {});
    runtime.budget.take(value.is_text() ? value.as_text().size() * 5 : 0);
    return Value::safe_text(escape_html(to_text(runtime, value)));
  };
}

}  // namespace trainx::jinja
