// str() and repr().
#include "jinja/loop.hpp"
#include "jinja/runtime.hpp"
#include "jinja/unicode.hpp"
#include <cstdio>

namespace trainx::jinja {
namespace {

std::string repr_of_text(const std::string& text) {
  const bool single = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = single ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = code_point_at(text, at);
    if (point == static_cast<char32_t>(quote) || point == '\\') {
      out += {'\\', text[at]};
    } else if (point == '\n' || point == '\r' || point == '\t') {
      out += point == '\n' ? "\\n" : point == '\r' ? "\\r" : "\\t";
    } else if (is_printable(point)) {
      out += text.substr(at, size);
    } else {
      char code[16];
      std::snprintf(code, sizeof code,
                    point < 0x100     ? "\\x%02x"
                    : point < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                    static_cast<unsigned>(point));
      out += code;
    }
    at += size;
  }
  return out + quote;
}

[[noreturn]] void refuse_python_text(const Value& value) {
  const std::string what = value.is(Kind::none)   ? "null"
                           : value.is(Kind::list) ? "a list"
                                                  : "an object";
  throw TemplateError(Problem::python_text,
                      value.place() + " is " + what + ", and the template takes it for a text");
}

std::string joined(Runtime& runtime, const Items& items, const char* begin, const char* end) {
  std::string out = begin;
  for (std::size_t i = 0; i < items.size(); ++i)
    out += (i > 0 ? ", " : "") + to_repr(runtime, items[i]);
  return out + end;
}

std::string repr_of_dict(Runtime& runtime, const Dict& dict) {
  std::string out = "{";
  for (const auto& [key, value] : dict.entries())
    out += (out.size() > 1 ? ", " : "") + to_repr(runtime, key) + ": " + to_repr(runtime, value);
  return out + "}";
}

std::string repr_of_sequence(Runtime& runtime, const Value& value) {
  const auto& sequence = value.as<Sequence>();
  if (value.is(Kind::list)) return joined(runtime, sequence.items, "[", "]");
  if (value.is(Kind::view)) return sequence.name + "(" + joined(runtime, sequence.items, "[", "])");
  if (value.is(Kind::tuple))
    return joined(runtime, sequence.items, "(", sequence.items.size() == 1 ? ",)" : ")");
  const auto& [begin, end, step] = sequence.range;
  return "range(" + std::to_string(begin) + ", " + std::to_string(end) +
         (step == 1 ? "" : ", " + std::to_string(step)) + ")";
}

}  // namespace

std::string to_repr(Runtime& runtime, const Value& value) {
  const Budget::Level level(runtime.budget);
  runtime.budget.step();
  if (!value.place().empty()) refuse_python_text(value);
  std::string out;
  switch (value.kind()) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "None";
    case Kind::boolean: return value.as_integer() ? "True" : "False";
    case Kind::integer: return std::to_string(value.as_integer());
    case Kind::real: return repr_of_real(value.as_real());
    case Kind::text:
      if (value.is_safe()) unsupported("repr of a text that is marked safe");
      out = repr_of_text(value.as_text());
      break;
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view: out = repr_of_sequence(runtime, value); break;
    case Kind::dict: out = repr_of_dict(runtime, value.as<Dict>()); break;
    case Kind::space:
      out = "<Namespace " + repr_of_dict(runtime, value.as<Space>().values) + ">";
      break;
    case Kind::callable:
      if (value.as<Callable>().description.empty()) unsupported("a function as text");
      return value.as<Callable>().description;
    case Kind::iterator: unsupported("what a filter like map or select gives, as text,");
    case Kind::loop: return value.as<Loop>().description();
  }
  runtime.budget.take(out.size());
  return out;
}

std::string to_text(Runtime& runtime, const Value& value) {
  if (value.is_text()) return value.as_text();
  if (value.is(Kind::undefined)) return "";
  return to_repr(runtime, value);
}

}  // namespace trainx::jinja
