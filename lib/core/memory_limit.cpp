#include "core/memory_limit.hpp"
#include "core/units.hpp"
#include <sys/resource.h>
#include <algorithm>

namespace trainx {

std::optional<std::int64_t> memory_limit() {
  rlim_t least = RLIM_INFINITY;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0) least = std::min(least, limit.rlim_cur);
  }
  if (least == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(least);
}

std::string no_memory_sentence() {
  const auto limit = memory_limit();
  if (!limit) return "the machine has no memory left";
  return "memory is limited to " + human_bytes(*limit) +
         " and none is left; raise the limit (ulimit -v, ulimit -d), or remove it";
}

}  // namespace trainx
