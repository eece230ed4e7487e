#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

namespace trainx::execute {

/// While it lives, OpenMP's threads spin only briefly for the next parallel region before they
/// sleep.
class ShortSpins {
 public:
  /// `threads`: of the team that computes.
  explicit ShortSpins(std::int64_t threads);
  ~ShortSpins();
  ShortSpins(const ShortSpins&) = delete;
  ShortSpins& operator=(const ShortSpins&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false, end_ = false;
  std::thread holder_;
};

/// Whether spinning threads take cores from others who want them. `share`: of the last interval,
/// the part in which a compute thread was ready to run and had no core, on average. `before`: the
/// answer for the interval before.
bool wants_short_spins(double share, bool before);

/// Watches how long this process's threads wait for a core. While they do, because other processes
/// run there, spins are short: a spinning thread would keep out the one that all wait for. On a
/// machine of its own a run keeps the long spins, with which small steps are faster.
class SharedCores {
 public:
  /// Does nothing for one thread, or where the user chose a wait policy (OMP_WAIT_POLICY,
  /// GOMP_SPINCOUNT).
  explicit SharedCores(std::int64_t threads);
  ~SharedCores();
  SharedCores(const SharedCores&) = delete;
  SharedCores& operator=(const SharedCores&) = delete;

 private:
  void watch();

  std::int64_t threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool end_ = false;
  std::thread watcher_;
};

}  // namespace trainx::execute
