#include "core/memory_limit.hpp"
#include <sys/mman.h>
#include <sys/resource.h>
#include "support/catch.hpp"

namespace memory_limit_test {

using namespace trainx;

TEST_CASE("who has a limit of memory is told of it, and not of the machine") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const rlim_t tib = rlim_t{1} << 40;
  const rlimit limited{tib, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  const auto limit = memory_limit();
  const std::string said = no_memory_sentence();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE(limit);
  CHECK(*limit <= static_cast<std::int64_t>(tib));
  CHECK(said.find("ulimit -v") != std::string::npos);
  if (!memory_limit()) CHECK(no_memory_sentence().find("ulimit") == std::string::npos);
}

TEST_CASE("a limit that was reached stays so when memory is free again") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const auto reached_below = [&](rlim_t bytes) {
    const rlimit limited{bytes, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
    const bool reached = limit_is_reached();
    REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
    return reached;
  };
  constexpr std::size_t large = std::size_t{1} << 40;
  void* const room =
      ::mmap(nullptr, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return;  // the machine has a limit of its own
  ::munmap(room, large);
  CHECK(reached_below(large));
  CHECK_FALSE(reached_below(4 * large));
}

}  // namespace memory_limit_test
