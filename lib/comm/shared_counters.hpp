// Counters in shared memory by which ranks of one host wait for each other.
#pragma once
#include "comm/call.hpp"
#include "comm/clock.hpp"
#include <atomic>
#include <cstdint>

namespace trainx::comm {

/// Of one rank. All but `asleep` are written by that rank alone and count up for ever, so that
/// nothing is ever reset.
struct alignas(128) RankCounters {
  std::atomic<std::uint64_t> written, summed, taken;  // pieces
  alignas(64) std::atomic<std::uint32_t> asleep;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// Looks a few times, then lets others run, then sleeps: there may be more ranks than cores, and
/// others may compute for long. Beside other programs it sleeps at once. One thread waits.
class SharedWaiting {
 public:
  SharedWaiting(Control& control, RankCounters* ranks);
  /// Until it holds. Throws the run's failure.
  template <class Condition>
  void until(Condition&& holds) {
    for (int i = 0; i < looks_; ++i) {
      if (holds()) return;
      pause();
    }
    wait_long(
        [](void* condition) {
          return (*static_cast<std::remove_reference_t<Condition>*>(condition))();
        },
        &holds);
  }
  /// Sets a counter of this rank's and wakes those who sleep.
  void publish(std::atomic<std::uint64_t>& counter, std::uint64_t value);
  /// The same for one other rank, who alone waits for it.
  void publish(std::atomic<std::uint64_t>& counter, std::uint64_t value, int to);

 private:
  static void pause();
  void wait_long(bool (*holds)(void*), void* condition);
  void wake(int rank);
  Control& control_;
  RankCounters* ranks_;
  int looks_, long_yields_ = 0;
  Time yields_again_{};
};

}  // namespace trainx::comm
