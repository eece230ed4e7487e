#include "core/memory_limit.hpp"
#include "core/units.hpp"
#include <sys/mman.h>
#include <sys/resource.h>
#include <algorithm>
#include <cstddef>

namespace trainx {

namespace {

rlim_t least_limit() noexcept {
  rlim_t least = RLIM_INFINITY;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0) least = std::min(least, limit.rlim_cur);
  }
  return least;
}

}  // namespace

bool limit_is_reached() noexcept {
  if (least_limit() == RLIM_INFINITY) return false;
  constexpr std::size_t arena_bytes = 64 << 20;
  void* const room = ::mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return true;
  ::munmap(room, arena_bytes);
  return false;
}

std::optional<std::int64_t> memory_limit() {
  const rlim_t least = least_limit();
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
