#include "execute/signals.hpp"
#include <atomic>
#include <csignal>
#include <initializer_list>
#include <unistd.h>

namespace trainx::execute {
namespace {

std::atomic<bool> save{false}, rerun{false}, interrupted{false}, hung_up{false}, terminated{false};

void on_signal(int signal) {
  if (signal == SIGUSR2) save = true;
  if (signal == SIGUSR1) rerun = true;
  if (signal == SIGTERM) terminated = true;
  if (signal == SIGHUP) hung_up = true;
  if (signal == SIGINT && interrupted.exchange(true)) _exit(128 + SIGINT);
}

bool is_ignored(int signal) {
  struct sigaction now = {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  if (!is_ignored(SIGHUP)) sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away must not end the run
  // a file that may not grow (ulimit -f) is an error with a sentence
  std::signal(SIGXFSZ, SIG_IGN);
}

void remove_signal_handlers() {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  if (!is_ignored(SIGHUP)) std::signal(SIGHUP, SIG_DFL);
  if (hung_up) std::raise(SIGHUP);
  if (terminated) std::raise(SIGTERM);
  if (interrupted) std::raise(SIGINT);
}

Request take_request() {
  if (terminated) return Request::terminate;
  if (hung_up) return Request::hang_up;
  if (interrupted) return Request::interrupt;
  if (rerun) return Request::stop_and_rerun;
  return save.exchange(false) ? Request::save_and_go_on : Request::none;
}

}  // namespace trainx::execute
