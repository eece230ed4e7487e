#include "jinja/json_text.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace trainx::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  void write(const Value& value, int level) {
    const Budget::Level deeper(runtime_.budget);
    runtime_.budget.step();
    const std::size_t before = out_.size();
    switch (value.kind()) {
      case Kind::none: out_ += "null"; break;
      case Kind::boolean: out_ += value.as_integer() ? "true" : "false"; break;
      case Kind::integer: out_ += std::to_string(value.as_integer()); break;
      case Kind::real: out_ += real(value.as_real()); break;
      case Kind::text: text(value.as_text()); break;
      case Kind::list:
      case Kind::tuple: items(value.items(), level); break;
      case Kind::dict: entries(value.as<Dict>(), level); break;
      default: fail("Object of type " + type_name(value) + " is not JSON serializable");
    }
    if (!value.is_sequence() && !value.is(Kind::dict)) runtime_.budget.take(out_.size() - before);
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string real(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return repr_of_real(value);
  }
  void unit(unsigned code) {
    char out[16];
    std::snprintf(out, sizeof out, "\\u%04x", code);
    out_ += out;
  }
  void text(const std::string& bytes) {
    static constexpr std::string_view named = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
    out_ += '"';
    for (std::size_t at = 0; at < bytes.size();) {
      const auto [point, size] = code_point_at(bytes, at);
      const std::size_t known = point < 0x80 ? named.find(bytes[at]) : std::string_view::npos;
      if (known != std::string_view::npos) {
        out_ += {'\\', letters[known]};
      } else if (point < 0x20 || (style_.ascii && point >= 0x7f && point < 0x10000)) {
        unit(point);
      } else if (style_.ascii && point >= 0x10000) {
        unit(0xd800 + ((point - 0x10000) >> 10));
        unit(0xdc00 + ((point - 0x10000) & 0x3ff));
      } else {
        out_ += bytes.substr(at, size);
      }
      at += size;
    }
    out_ += '"';
  }
  void line(int level) {
    if (!style_.indent) return;
    out_ += '\n';
    runtime_.budget.take(style_.indent->size() * static_cast<std::size_t>(level) + 1);
    for (int i = 0; i < level; ++i) out_ += *style_.indent;
  }
  void items(const Items& values, int level) {
    if (values.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += style_.item;
      line(level + 1);
      write(values[i], level + 1);
    }
    line(level);
    out_ += ']';
  }
  std::string key_of(const Value& key) {
    switch (key.kind()) {
      case Kind::text: return key.as_text();
      case Kind::none: return "null";
      case Kind::boolean: return key.as_integer() ? "true" : "false";
      case Kind::integer: return std::to_string(key.as_integer());
      case Kind::real: return real(key.as_real());
      default: fail("keys must be str, int, float, bool or None, not " + type_name(key));
    }
  }
  void entries(const Dict& dict, int level) {
    std::vector<const Dict::Entry*> order;
    for (const auto& entry : dict.entries()) order.push_back(&entry);
    if (style_.sort_keys)
      std::ranges::stable_sort(
          order, [](const auto* a, const auto* b) { return less(a->first, b->first); });
    if (order.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out_ += style_.item;
      line(level + 1);
      text(key_of(order[i]->first));
      out_ += style_.key;
      write(order[i]->second, level + 1);
    }
    line(level);
    out_ += '}';
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

std::string to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace trainx::jinja
