// The signals that steer workers, and how they reach them.
//
// Each worker is in a process group of its own, so a terminal's Ctrl-C, or a `kill` of the whole
// group, reaches the launcher alone, which forwards each signal once. From fork until a worker's
// handlers are installed the signals are held back (blocked, inherited through exec), not lost.
#pragma once
#include <array>
#include <csignal>
#include <sys/types.h>

namespace trainx::launch {

constexpr std::array<int, 5> forwarded_signals{SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2};
/// forwarded_signals as a set.
sigset_t forwarded_set();

/// Blocks, for its lifetime, the signals that the launcher waits for; the old mask comes back
/// afterwards.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  const sigset_t& waited() const { return waited_; }
  // what the worker starts with: the old mask and the forwarded signals
  const sigset_t& of_worker() const { return of_worker_; }

 private:
  sigset_t waited_{}, before_{}, of_worker_{};
};

}  // namespace trainx::launch
