#include "jinja/filters.hpp"
#include "jinja/bound.hpp"
#include "jinja/json_text.hpp"
#include "jinja/text_parts.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>

namespace trainx::jinja {
namespace {

Value default_filter(Runtime&, const Value& value, const Arguments& a) {
  const Bound b("default", a, {"default_value", "boolean"});
  const bool replaced = value.is(Kind::undefined) || (b.truth(1) && !is_true(value));
  return !replaced ? value : b.has(0) ? b[0] : Value::text("");
}

Value tojson_filter(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("tojson", a, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = b.truth(0);
  style.sort_keys = b.truth(3);
  if (b.given(1)) {
    const std::int64_t width = b[1].is_text() ? 0 : std::max<std::int64_t>(0, b.integer(1));
    if (width > 1000) fail("tojson indents by more than 1000 blanks");
    style.indent = b[1].is_text() ? b.text(1) : std::string(static_cast<std::size_t>(width), ' ');
    style.item = ",";
  }
  if (b.given(2)) {
    const Items both = iterate(runtime, b[2]);
    if (both.size() != 2) fail("separators are two texts");
    style.item = need_text(both[0], "tojson");
    style.key = need_text(both[1], "tojson");
  }
  return made_text(runtime, to_json(runtime, value, style));
}

Value attr_filter(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("attr", a, {"name"}, 1);
  const std::string name = b.text(0);
  // Attributes alone: no items of a dict.
  if (value.is(Kind::dict) && container_method(value, name).is(Kind::undefined))
    return Value::undefined("'dict object' has no attribute '" + name + "'");
  return attribute_of(runtime, value, name);
}

Filters make_filters() {
  Filters out;
  add_text_filters(out);
  add_number_filters(out);
  add_list_filters(out);
  add_choosing_filters(out);
  out["default"] = out["d"] = default_filter;
  out["tojson"] = tojson_filter;
  out["attr"] = attr_filter;
  out["length"] = out["count"] = [](Runtime&, const Value& value, const Arguments& a) {
    const Bound none("length", a, {});
    return Value::integer(length_of(value));
  };
  for (const char* name :
       {"pprint", "random", "striptags", "urlize", "urlencode", "wordwrap", "xmlattr"})
    out[name] = [name](Runtime&, const Value&, const Arguments&) -> Value {
      unsupported(std::string("the filter ") + name);
    };
  return out;
}

const Filters& all_filters() {
  static const Filters filters = make_filters();
  return filters;
}

}  // namespace

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is(Kind::none)) return;
  if (!attribute.is_text()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string dot = ".";
  for (const std::string& part : split(attribute.as_text(), &dot, -1, false)) {
    const bool number = !part.empty() && part.size() < 18 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    parts_.push_back(number ? Value::integer(std::stoll(part)) : Value::text(part));
  }
}

Value AttributePath::of(Runtime& runtime, Value value,
                        const std::optional<Value>& otherwise) const {
  for (const Value& part : parts_) {
    value = item_of(runtime, value, part);
    if (otherwise && !otherwise->is(Kind::none) && value.is(Kind::undefined)) value = *otherwise;
  }
  return value;
}

Value without_case(const Value& value) {
  return value.is_text() ? Value::text(to_lower(value.as_text())) : value;
}

Value apply_filter(Runtime& runtime, const std::string& name, const Value& value,
                   const Arguments& arguments) {
  const Budget::Level level(runtime.budget);
  runtime.budget.step();
  const auto found = all_filters().find(name);
  if (found == all_filters().end())
    throw TemplateError(Problem::syntax, "there is no filter " + name);
  if (value.is_text()) runtime.budget.take(value.as_text().size() / 8);
  return found->second(runtime, value, arguments);
}

bool is_filter(const std::string& name) { return all_filters().contains(name); }

}  // namespace trainx::jinja
