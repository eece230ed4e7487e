// Attributes, items and slices.
#include "jinja/loop.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <array>

namespace trainx::jinja {
namespace {

Value nothing(const Value& value, const std::string& name) {
  if (value.is(Kind::none)) return Value::undefined("None has no attribute '" + name + "'");
  return Value::undefined("'" + type_name(value) + " object' has no attribute '" + name + "'");
}

[[noreturn]] void use_undefined(const Value& value) {
  fail(value.object() ? value.as<Note>().text : std::string("a value is undefined"));
}

bool is_internal(const std::string& name) {
  return name.starts_with("__") && name.ends_with("__") && name.size() > 4;
}

/// Python's getattr; kind undefined without a reason: there is none.
Value python_attribute(const Value& value, const std::string& name) {
  if (is_internal(name)) return Value::undefined("access to attribute '" + name + "' is unsafe");
  switch (value.kind()) {
    case Kind::text: return text_method(value, name);
    case Kind::tuple:
      if (value.as<Sequence>().is_group && (name == "grouper" || name == "list"))
        return value.items()[name == "grouper" ? 0 : 1];
      return container_method(value, name);
    case Kind::list:
    case Kind::range:
    case Kind::dict: return container_method(value, name);
    case Kind::space:
      if (const Value* found = value.as<Space>().values.find(std::string_view(name))) return *found;
      return {};
    case Kind::loop: return loop_attribute(value, name);
    case Kind::boolean:
    case Kind::integer:
    case Kind::real: {
      static constexpr std::array names{
          "real",       "imag",       "numerator",       "denominator", "conjugate",
          "bit_count",  "bit_length", "to_bytes",        "from_bytes",  "hex",
          "is_integer", "fromhex",    "as_integer_ratio"};
      if (std::ranges::find(names, name) != names.end())
        unsupported("the attribute " + name + " of a number");
      return {};
    }
    case Kind::callable:
      if (!value.as<Callable>().description.empty())
        unsupported("the attribute " + name + " of a macro");
      return {};
    default: return {};
  }
}

bool is_there(const Value& value) { return !value.is(Kind::undefined) || value.object(); }

/// Python's value[key]; kind undefined without a reason: there is none.
Value python_item(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is(Kind::dict)) {
    const Value* found = is_hashable(key) ? value.as<Dict>().find(key) : nullptr;
    return found ? *found : Value();
  }
  if (!key.is_integer()) return {};
  std::int64_t index = key.as_integer();
  if (value.is_text()) {
    const std::string& text = value.as_text();
    const auto count = static_cast<std::int64_t>(count_code_points(text));
    if (index < 0) index += count;
    if (index < 0 || index >= count) return {};
    const std::size_t begin = byte_of(text, static_cast<std::size_t>(index));
    return made_text(runtime, text.substr(begin, code_point_at(text, begin).second));
  }
  if (!value.is_sequence() || value.is(Kind::view)) return {};
  const auto count = static_cast<std::int64_t>(value.items().size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) return {};
  return value.items()[static_cast<std::size_t>(index)];
}

std::optional<std::int64_t> bound_of(const Value& value) {
  if (value.is(Kind::none)) return std::nullopt;
  if (!value.is_integer()) fail("slice indices must be integers or None");
  return value.as_integer();
}

}  // namespace

Value attribute_of(Runtime& runtime, const Value& value, const std::string& name) {
  runtime.budget.step();
  if (value.is(Kind::undefined)) use_undefined(value);
  Value found = python_attribute(value, name);
  if (is_there(found)) return found;
  found = python_item(runtime, value, Value::text(name));
  return is_there(found) ? found : nothing(value, name);
}

Value item_of(Runtime& runtime, const Value& value, const Value& key) {
  runtime.budget.step();
  if (value.is(Kind::undefined)) use_undefined(value);
  Value found = python_item(runtime, value, key);
  if (is_there(found)) return found;
  if (!key.is_text()) return nothing(value, key.is_number() ? to_repr(runtime, key) : "...");
  found = python_attribute(value, key.as_text());
  return is_there(found) ? found : nothing(value, key.as_text());
}

Value slice_of(Runtime& runtime, const Value& value, const Value& begin, const Value& end,
               const Value& step) {
  runtime.budget.step();
  if (value.is(Kind::undefined)) use_undefined(value);
  if (!value.is_text() && (!value.is_sequence() || value.is(Kind::view)))
    return Value::undefined("'" + type_name(value) + "' has no slices");
  const std::int64_t size = length_of(value);
  const std::int64_t stride =
      std::clamp<std::int64_t>(bound_of(step).value_or(1), -size - 1, size + 1);
  if (stride == 0) fail("slice step cannot be zero");
  const auto clamp = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    if (!at) return otherwise;
    const std::int64_t from_begin = *at < 0 ? *at + size : *at;
    return stride > 0 ? std::clamp<std::int64_t>(from_begin, 0, size)
                      : std::clamp<std::int64_t>(from_begin, -1, size - 1);
  };
  std::int64_t first = clamp(bound_of(begin), stride > 0 ? 0 : size - 1);
  const std::int64_t last = clamp(bound_of(end), stride > 0 ? size : -1);
  if (value.is_text() && stride == 1) {
    if (first >= last) return Value::text("");
    const std::string& text = value.as_text();
    const std::size_t from = byte_of(text, static_cast<std::size_t>(first));
    const std::string_view rest = std::string_view(text).substr(from);
    return made_text(runtime, std::string(rest.substr(
                                  0, byte_of(rest, static_cast<std::size_t>(last - first)))));
  }
  const Items all = iterate(runtime, value);
  Items chosen;
  for (; stride > 0 ? first < last : first > last; first += stride)
    chosen.push_back(all[static_cast<std::size_t>(first)]);
  if (value.is_text()) {
    std::string out;
    for (const Value& one : chosen) out += one.as_text();
    return made_text(runtime, std::move(out));
  }
  if (value.is(Kind::range)) unsupported("a slice of a range");
  return value.is(Kind::tuple) ? Value::tuple(std::move(chosen)) : Value::list(std::move(chosen));
}

}  // namespace trainx::jinja
