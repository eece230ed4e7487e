#include "core/short_slices.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

namespace short_slices_test {

namespace {

/// Slice of this thread in nanoseconds; 0 where the kernel (before Linux 6.12) does not say.
std::uint64_t slice_ns() {
  std::array<unsigned char, 48> attributes{};
  REQUIRE(::syscall(SYS_sched_getattr, 0, attributes.data(), attributes.size(), 0) == 0);
  std::uint64_t runtime = 0;
  std::memcpy(&runtime, attributes.data() + 24, sizeof runtime);
  return runtime;
}

}  // namespace

TEST_CASE("slices get short, for threads started later too, and nothing else changes") {
  std::thread([] {
    const std::uint64_t before = slice_ns();
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 7);
    const int policy = ::sched_getscheduler(0);
    trainx::ask_for_short_slices();
    CHECK(::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())) == 7);
    CHECK(::sched_getscheduler(0) == policy);
    if (before == 0 || policy != SCHED_OTHER)
      TRAINX_SKIP("threads of this kernel or policy have no slices of their own");
    CHECK(slice_ns() == 100'000);
    std::thread([] { CHECK(slice_ns() == 100'000); }).join();
  }).join();
}

}  // namespace short_slices_test
