#include "execute/shared_cores.hpp"
#include "core/blocked_signals.hpp"
#include "core/thread_limit.hpp"
#include "core/process.hpp"
#include "log/log.hpp"
#include <dirent.h>
#include <omp.h>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace trainx::execute {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto interval = std::chrono::milliseconds(500);

/// Seconds that threads of this process were ready and waited for a core; 0 where the kernel does
/// not say.
double seconds_without_core() {
  double sum_ns = 0;
  DIR* const tasks = ::opendir("/proc/self/task");
  if (!tasks) return 0;
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    std::ifstream in(std::string("/proc/self/task/") + task->d_name + "/schedstat");
    double ran_ns = 0, waited_ns = 0;
    if (in >> ran_ns >> waited_ns) sum_ns += waited_ns;
  }
  ::closedir(tasks);
  return sum_ns / 1e9;
}

}  // namespace

// libgomp spins 300,000 times, and 100 times where its threads are more than the cores. It looks at
// both numbers at each wait. So a second team, asleep, that makes the threads too many shortens the
// spins of the first one; when the thread that owns it ends, libgomp counts it off.
ShortSpins::ShortSpins(std::int64_t threads) {
  const int extra = std::max(1, omp_get_num_procs() - static_cast<int>(threads) + 1);
  const BlockedSignals blocked;  // signals are for the main thread
  require_threads(extra + 1);    // without one libgomp ends the process
  holder_ = std::thread([this, extra] {
#pragma omp parallel num_threads(extra + 1)
    {
      asm volatile("");  // an empty region would be left out
    }
    std::unique_lock lock(mutex_);
    begun_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return end_; });
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return begun_; });
}

ShortSpins::~ShortSpins() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  holder_.join();
}

// Measured on two cores (bench/shared_machine): alone 0.02 to 0.1, beside one busy process 0.4 with
// long spins and 0.25 with short ones.
bool wants_short_spins(double share, bool before) { return share > (before ? 0.12 : 0.2); }

SharedCores::SharedCores(std::int64_t threads) : threads_(threads) {
  const bool chosen = !environment_variable("OMP_WAIT_POLICY").empty() ||
                      !environment_variable("GOMP_SPINCOUNT").empty();
  if (threads < 2 || chosen) return;
  const BlockedSignals blocked;
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // cores are shared less well without it
  }
}

SharedCores::~SharedCores() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

void SharedCores::watch() {
  std::optional<ShortSpins> short_spins;
  double waited = seconds_without_core();
  auto at = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return end_; })) {
    const double now_waited = seconds_without_core();
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - at).count();
    // A thread that ended takes its time along.
    const double share = std::max(0.0, now_waited - waited) / seconds /
                         static_cast<double>(threads_);
    waited = now_waited;
    at = now;
    const bool wanted = wants_short_spins(share, short_spins.has_value());
    if (wanted == short_spins.has_value()) continue;
    log::debug(wanted ? "other processes want the cores: OpenMP's threads spin briefly"
                      : "the cores are free again: OpenMP's threads spin");
    if (!wanted) {
      short_spins.reset();
      continue;
    }
    try {
      short_spins.emplace(threads_);
    } catch (const std::system_error&) { return; }  // long spins are slower, and no more
  }
}

}  // namespace trainx::execute
