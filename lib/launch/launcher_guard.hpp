// A small process beside a launcher of several ranks. Who is stopped (SIGSTOP) can end nobody, not
// even itself: where a launcher is, its workers would stay for ever, stopped or not, after the
// ranks of other hosts have given them up.
#pragma once
#include <sys/types.h>
#include <chrono>

namespace trainx::launch {

class LauncherGuard {
 public:
  /// Kills this process, and with it its workers, once it has been stopped for so long. 0 or less:
  /// there is no guard; nor where the system allows no further process.
  explicit LauncherGuard(std::chrono::duration<double> most_stopped);
  ~LauncherGuard();  // ends it
  LauncherGuard(const LauncherGuard&) = delete;
  /// SIGSTOP and SIGCONT: a launcher that suspends itself may stay so.
  void send(int signal) const;

 private:
  pid_t guard_ = 0;
};

}  // namespace trainx::launch
