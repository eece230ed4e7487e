#include "jinja/runtime.hpp"
#include "jinja/loop.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace trainx::jinja {

Value Runtime::call(const Value& callee, const Arguments& arguments) {
  const Budget::Level level(budget);
  budget.step();
  if (callee.is(Kind::undefined))
    fail(callee.object() ? callee.as<Note>().text : std::string("an undefined value is called"));
  if (callee.is(Kind::loop)) return callee.as<Loop>().recurse(*this, arguments);
  if (!callee.is(Kind::callable)) fail("'" + type_name(callee) + "' object is not callable");
  return callee.as<Callable>().call(*this, arguments);
}

Value Runtime::make_space(std::shared_ptr<Space> space) {
  budget.take_items(2);
  spaces_.push_back(space);
  return {Kind::space, std::move(space)};
}

void Runtime::empty_spaces() {
  for (const auto& space : spaces_) space->values.clear();
}

Value made_text(Runtime& runtime, std::string bytes) {
  runtime.budget.take(bytes.size() + 32);
  return Value::text(std::move(bytes));
}

Value made_list(Runtime& runtime, Items items) {
  runtime.budget.take_items(items.size() + 1);
  return Value::list(std::move(items));
}

Items iterate(Runtime& runtime, const Value& value) {
  runtime.budget.step();
  Items out;
  switch (value.kind()) {
    case Kind::undefined: return {};
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view: runtime.budget.take_items(value.items().size()); return value.items();
    case Kind::text: {
      const std::size_t count = count_code_points(value.as_text());
      runtime.budget.take_items(count * 3);
      for (std::string& one : characters(value.as_text())) out.push_back(Value::text(one));
      return out;
    }
    case Kind::dict:
      runtime.budget.take_items(value.as<Dict>().entries().size());
      for (const Dict::Entry& entry : value.as<Dict>().entries()) out.push_back(entry.first);
      return out;
    case Kind::iterator: {
      auto& source = value.as<Iterator>();
      runtime.budget.take_items(source.items.size() - source.at);
      out.assign(source.items.begin() + static_cast<std::ptrdiff_t>(source.at), source.items.end());
      source.at = source.items.size();
      return out;
    }
    case Kind::loop: unsupported("a loop over a loop's variable");
    default: fail("'" + type_name(value) + "' object is not iterable");
  }
}

std::int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return 0;
    case Kind::text: return static_cast<std::int64_t>(count_code_points(value.as_text()));
    case Kind::dict: return static_cast<std::int64_t>(value.as<Dict>().entries().size());
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view: return static_cast<std::int64_t>(value.items().size());
    default: fail("object of type '" + type_name(value) + "' has no len()");
  }
}

std::string repr_of_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto made =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string text(buffer, made.ptr);
  const std::size_t e = text.find('e');
  const int power = std::stoi(text.substr(e + 1));
  const bool negative = text[0] == '-';
  std::string digits;
  for (const char c : text.substr(0, e))
    if (c >= '0' && c <= '9') digits.push_back(c);
  const int count = static_cast<int>(digits.size());
  std::string out = negative ? "-" : "";
  if (power < -4 || power >= 16) {
    out += digits[0];
    if (count > 1) out += "." + digits.substr(1);
    const std::string size = std::to_string(std::abs(power));
    return out + (power < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
  if (power < 0)
    return out + "0." + std::string(static_cast<std::size_t>(-power - 1), '0') + digits;
  if (count <= power + 1)
    return out + digits + std::string(static_cast<std::size_t>(power + 1 - count), '0') + ".0";
  const auto whole = static_cast<std::size_t>(power + 1);
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

}  // namespace trainx::jinja
