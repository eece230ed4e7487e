// `trainx train` as a child process: what `sweep` and `bench lr` start.
#pragma once
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace trainx::app {

/// Holds back the signals that ask a run to end or to save, so that this process can pass them on.
class HeldRequests {
 public:
  HeldRequests();
  ~HeldRequests();
  HeldRequests(const HeldRequests&) = delete;
  HeldRequests& operator=(const HeldRequests&) = delete;

  /// Waits at most `ms`. Returns the number of a signal that came, else 0.
  int wait(int ms) const;
  /// Signal mask from before, which children get.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t held_, before_;
};

struct ChildOptions {
  std::string output;             // file for stdout and stderr; empty: this process's own
  bool without_settings = false;  // unset TRAINX_SET
};

/// This trainx with other arguments, in a process group of its own. It gets SIGTERM if this process
/// dies.
class ChildRun {
 public:
  /// Throws UserError 69 if no process can be started, 73 if `output` cannot be made.
  ChildRun(const std::vector<std::string>& arguments, const ChildOptions& options,
           const HeldRequests& held);
  /// Kills a child that still runs.
  ~ChildRun();
  ChildRun(ChildRun&& other) noexcept;
  ChildRun& operator=(ChildRun&&) = delete;

  /// Exit code, 128 + n for signal n; empty while the child runs.
  std::optional<int> exit_code();
  void send(int signal) const;
  /// SIGKILL. Its workers die with it.
  void kill();

 private:
  pid_t process_;  // -1: reaped or moved from
  std::optional<int> code_;
};

}  // namespace trainx::app
