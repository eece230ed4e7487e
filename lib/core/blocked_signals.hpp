#pragma once
#include <csignal>

namespace trainx {

/// Keeps all signals from this thread for its lifetime, and for good from threads that begin
/// meanwhile. Libraries start threads of their own; one of those would take a signal of the process
/// that everybody else holds back to wait for it, and do with it what is done by default: SIGCHLD
/// is lost so, SIGTERM ends the process at once.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace trainx
