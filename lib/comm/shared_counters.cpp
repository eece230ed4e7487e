#include "comm/shared_counters.hpp"
#include "comm/clock.hpp"
#include "comm/waits.hpp"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <thread>
#include <utility>

namespace trainx::comm {
namespace {

// about what waking a sleeper costs
constexpr auto yielding_time = std::chrono::microseconds(100);
// Yields that take so long, one after the other, give the core to another program. Where a sleeper
// is soon given the core back, who yields has given up his share.
constexpr auto somebody_computes = std::chrono::microseconds(400);
constexpr auto without_yields = std::chrono::seconds(2);
// then one looks whether the run has failed
constexpr timespec longest_sleep{0, 20'000'000};

// Those of the standard library are for the threads of one process.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &longest_sleep, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

SharedWaiting::SharedWaiting(Control& control, RankCounters* ranks)
    : control_(control),
      ranks_(ranks),
      looks_(control.world_size() <= static_cast<int>(std::thread::hardware_concurrency()) ? 200
                                                                                           : 20) {}

void SharedWaiting::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void SharedWaiting::wait_long(bool (*holds)(void*), void* condition) {
  const WaitsForPeers waits(control_.progress());
  Time now = Clock::now();
  const Time tired = now + yielding_time;
  while (now < tired && now >= yields_again_) {
    if (holds(condition)) return;
    if (control_.failed()) control_.throw_failure();
    ::sched_yield();
    const Time before = std::exchange(now, Clock::now());
    long_yields_ = now - before > somebody_computes ? long_yields_ + 1 : 0;
    if (long_yields_ >= 2) yields_again_ = now + without_yields;
  }
  auto& asleep = ranks_[control_.rank()].asleep;
  for (;;) {
    // Who publishes looks at `asleep` after his counter is set, who sleeps at the counter after
    // `asleep` is: one of them sees the other.
    asleep.store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool done = holds(condition);
    if (!done && !control_.failed()) futex_wait(asleep, 1);
    asleep.store(0, std::memory_order_relaxed);
    if (done) return;
    if (control_.failed()) control_.throw_failure();
  }
}

void SharedWaiting::wake(int rank) {
  if (ranks_[rank].asleep.load(std::memory_order_relaxed) != 0 &&
      ranks_[rank].asleep.exchange(0) != 0)
    futex_wake(ranks_[rank].asleep);
}

void SharedWaiting::publish(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  counter.store(value, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int r = 0; r < control_.world_size(); ++r)
    if (r != control_.rank()) wake(r);
}

void SharedWaiting::publish(std::atomic<std::uint64_t>& counter, std::uint64_t value, int to) {
  counter.store(value, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake(to);
}

}  // namespace trainx::comm
