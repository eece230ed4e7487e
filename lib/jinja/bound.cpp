#include "jinja/bound.hpp"
#include "jinja/error.hpp"
#include <algorithm>

namespace trainx::jinja {

Bound::Bound(const std::string& function, const Arguments& arguments,
             std::initializer_list<const char*> names, std::size_t required)
    : function_(function), values_(names.size()) {
  if (arguments.positional.size() > names.size())
    fail(function + " takes " + std::to_string(names.size()) + " arguments, not " +
         std::to_string(arguments.positional.size()));
  std::ranges::copy(arguments.positional, values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find_if(names, [&](const char* n) { return name == n; });
    if (found == names.end()) fail(function + " has no argument " + name);
    auto& place = values_[static_cast<std::size_t>(found - names.begin())];
    if (place) fail(function + " got its argument " + name + " twice");
    place = value;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (!values_[i]) fail(function + " needs its argument " + names.begin()[i]);
}

std::int64_t Bound::integer(std::size_t i, std::int64_t otherwise) const {
  return has(i) ? need_integer((*this)[i], function_) : otherwise;
}

std::string Bound::text(std::size_t i, const std::string& otherwise) const {
  return has(i) ? need_text((*this)[i], function_) : otherwise;
}

std::int64_t need_integer(const Value& value, const std::string& what) {
  if (!value.is_integer()) fail(what + " takes a whole number, not " + type_name(value));
  return value.as_integer();
}

const std::string& need_text(const Value& value, const std::string& what) {
  if (!value.is_text()) fail(what + " takes a text, not " + type_name(value));
  return value.as_text();
}

}  // namespace trainx::jinja
