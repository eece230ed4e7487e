#include "execute/shared_cores.hpp"
#include "support/catch.hpp"
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace shared_cores_test {

namespace {

using namespace trainx;

std::ptrdiff_t threads_here() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

TEST_CASE("short spins hold a second team, and give it up") {
  const std::ptrdiff_t before = threads_here();
  {
    const execute::ShortSpins spins(2);
    CHECK(threads_here() >= before + 2);  // the holder and at least one of its team
  }
  // Threads of the team end soon after their owner.
  for (int i = 0; i < 1000 && threads_here() > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(threads_here() <= before);
}

TEST_CASE("spins are short while compute threads wait for cores, with hysteresis") {
  CHECK_FALSE(execute::wants_short_spins(0.05, false));
  CHECK(execute::wants_short_spins(0.4, false));
  CHECK(execute::wants_short_spins(0.15, true));
  CHECK_FALSE(execute::wants_short_spins(0.15, false));
  CHECK_FALSE(execute::wants_short_spins(0.05, true));
}

TEST_CASE("nothing watches one thread, or a user's own wait policy") {
  const std::ptrdiff_t before = threads_here();
  const execute::SharedCores one(1);
  CHECK(threads_here() == before);
  ::setenv("GOMP_SPINCOUNT", "5", 1);
  const execute::SharedCores chosen(4);
  CHECK(threads_here() == before);
  ::unsetenv("GOMP_SPINCOUNT");
  const execute::SharedCores watched(4);
  CHECK(threads_here() == before + 1);
}

}  // namespace shared_cores_test
