#pragma once
#include <optional>

namespace trainx::recipe {

/// `all`, or a value that limits it.
template <class T>
struct AllOr {
  std::optional<T> value;  // nothing: all
  bool is_all() const { return !value.has_value(); }
};

}  // namespace trainx::recipe
