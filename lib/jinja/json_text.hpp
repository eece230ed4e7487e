#pragma once
#include "jinja/runtime.hpp"
#include <optional>
#include <string>

namespace trainx::jinja {

struct JsonStyle {
  bool ascii = false, sort_keys = false;
  std::optional<std::string> indent;  // one level's
  std::string item = ", ", key = ": ";
};

/// Python's json.dumps. Throws TemplateError for what JSON does not have.
std::string to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace trainx::jinja
