// Lists of what a worker has of the user's own, filled before the first recipe is read.
#pragma once
#include <vector>

namespace trainx::options {

/// The one list of that type: definitions that a worker added, or descriptions that are known.
template <class T>
std::vector<T>& registry() {
  static std::vector<T> all;
  return all;
}

}  // namespace trainx::options
