#include "core/memory_limit.hpp"
#include "core/units.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

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

constexpr std::size_t arena_bytes = 64 << 20;

/// Of the address space, in the life of the process; 0: not known.
std::size_t most_address_space() noexcept {
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 1024> text{};  // the line is among the first
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) return 0;
  const char* at = std::strstr(text.data(), "VmPeak:");
  if (!at) return 0;
  std::size_t kib = 0;
  for (at += std::strlen("VmPeak:"); *at == ' ' || *at == '\t';) ++at;
  for (; *at >= '0' && *at <= '9'; ++at) kib = 10 * kib + static_cast<std::size_t>(*at - '0');
  return kib << 10;
}

bool has_reached_address_limit() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         most_address_space() + arena_bytes > limit.rlim_cur;
}

}  // namespace

bool limit_is_reached() noexcept {
  if (least_limit() == RLIM_INFINITY) return false;
  if (has_reached_address_limit()) return true;
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
