#include "launch/visible_gpus.hpp"
#include "core/number.hpp"
#include <algorithm>

namespace trainx::launch {

int visible_gpus(int installed, bool set, std::string_view names) {
  if (!set) return installed;
  int count = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    const auto index = parse_integer(name);
    const bool uuid = name.starts_with("GPU-") || name.starts_with("MIG-");
    if (!uuid && !(index && *index >= 0 && *index < installed)) break;
    ++count;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return count;
}

}  // namespace trainx::launch
