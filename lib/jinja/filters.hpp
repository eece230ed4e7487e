#pragma once
#include "jinja/runtime.hpp"
#include <functional>
#include <map>
#include <string>

namespace trainx::jinja {

using Filter = std::function<Value(Runtime&, const Value&, const Arguments&)>;
using Filters = std::map<std::string, Filter>;

void add_text_filters(Filters& filters);
void add_number_filters(Filters& filters);
void add_list_filters(Filters& filters);
void add_choosing_filters(Filters& filters);  // map, select and their like

/// A value's attribute by a path as "a.b.0", or what an index finds. `attribute` none: the value.
class AttributePath {
 public:
  AttributePath() = default;
  explicit AttributePath(const Value& attribute);
  /// `otherwise` takes the place of what is undefined.
  Value of(Runtime& runtime, Value value, const std::optional<Value>& otherwise = {}) const;

 private:
  std::vector<Value> parts_;
};

/// Texts in lower case, for comparisons without case; other values as they are.
Value without_case(const Value& value);

}  // namespace trainx::jinja
