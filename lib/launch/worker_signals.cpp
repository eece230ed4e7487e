#include "launch/worker_signals.hpp"

namespace trainx::launch {

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

}  // namespace trainx::launch
