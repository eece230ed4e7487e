#pragma once
#include "jinja/value.hpp"
#include <initializer_list>
#include <optional>
#include <string>

namespace trainx::jinja {

/// Arguments by the names of a function's parameters, as Python binds them.
class Bound {
 public:
  /// The first `required` must be given. Throws TemplateError.
  Bound(const std::string& function, const Arguments& arguments,
        std::initializer_list<const char*> names, std::size_t required = 0);
  bool has(std::size_t i) const { return values_[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *values_[i]; }
  /// Of an argument that may be None or missing.
  bool given(std::size_t i) const { return has(i) && !values_[i]->is(Kind::none); }
  std::int64_t integer(std::size_t i, std::int64_t otherwise = 0) const;
  std::string text(std::size_t i, const std::string& otherwise = "") const;
  bool truth(std::size_t i) const { return has(i) && is_true(*values_[i]); }

 private:
  std::string function_;
  std::vector<std::optional<Value>> values_;
};

/// A whole number, or a failure that names what it is for.
std::int64_t need_integer(const Value& value, const std::string& what);
const std::string& need_text(const Value& value, const std::string& what);

}  // namespace trainx::jinja
