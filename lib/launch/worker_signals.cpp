#include "launch/worker_signals.hpp"
#include "core/error.hpp"
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <optional>

namespace trainx::launch {
namespace {

using Clock = std::chrono::steady_clock;
// `timeout` and some job managers signal a process and then its group: the same SIGINT within this time is one request, not two.
constexpr auto one_request = std::chrono::milliseconds(100);

void suspend_with(pid_t worker) {
  ::kill(worker, SIGSTOP);
  ::raise(SIGSTOP);                     // until somebody sends SIGCONT
  ::kill(worker, SIGCONT);
}

}  // namespace

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : forwarded_signals) sigaddset(&set, signal);
  return set;
}

HeldSignals::HeldSignals() : waited_(forwarded_set()) {
  sigaddset(&waited_, SIGCHLD);
  struct sigaction stop {};
  // A shell without job control ignores Ctrl-Z for its children; then so does the launcher.
  if (sigaction(SIGTSTP, nullptr, &stop) == 0 && stop.sa_handler != SIG_IGN) sigaddset(&waited_, SIGTSTP);
  std::signal(SIGCHLD, SIG_DFL);        // inherited as ignored, the kernel would reap the worker and tell nobody
  sigprocmask(SIG_BLOCK, &waited_, &before_);
  of_worker_ = before_;
  for (const int signal : forwarded_signals) sigaddset(&of_worker_, signal);
}

HeldSignals::~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

WorkerEnd wait_and_forward(pid_t worker, const HeldSignals& held) {
  WorkerEnd end;
  std::optional<Clock::time_point> interrupted;
  for (;;) {
    const pid_t ended = ::waitpid(worker, &end.status, WNOHANG);
    if (ended == worker) return end;
    if (ended < 0 && errno != EINTR) throw InternalError("waiting for the worker failed");
    const int signal = sigwaitinfo(&held.waited(), nullptr);
    if (signal < 0 || signal == SIGCHLD) continue;
    if (signal == SIGTSTP) {
      suspend_with(worker);
    } else if (signal == SIGINT && interrupted) {
      if (Clock::now() - *interrupted < one_request) continue;
      end.interrupted_twice = true;
      ::kill(worker, SIGKILL);
    } else {
      if (signal == SIGINT) interrupted = Clock::now();
      ::kill(worker, signal);
    }
  }
}

}  // namespace trainx::launch
