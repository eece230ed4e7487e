#include "launch/worker_signals.hpp"

namespace trainx::launch {

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : forwarded_signals) sigaddset(&set, signal);
  return set;
}

namespace {

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

HeldSignals::HeldSignals() : waited_(forwarded_set()) {
  // nohup; a blocked signal would be waited for all the same
  if (is_ignored(SIGHUP)) sigdelset(&waited_, SIGHUP);
  sigaddset(&waited_, SIGCHLD);
  // A shell without job control ignores Ctrl-Z for its children; then so does the launcher.
  if (!is_ignored(SIGTSTP)) sigaddset(&waited_, SIGTSTP);
  // inherited as ignored, the kernel would reap the worker and tell nobody
  std::signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &waited_, &before_);
  of_worker_ = before_;
  for (const int signal : forwarded_signals) sigaddset(&of_worker_, signal);
}

HeldSignals::~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace trainx::launch
