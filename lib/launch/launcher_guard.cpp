#include "launch/launcher_guard.hpp"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace trainx::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr timespec pause_between_looks{0, 500'000'000};
constexpr auto late = std::chrono::seconds(2);  // the guard was stopped, or frozen, itself

/// Of /proc/PID/stat: "PID (name) STATE ..."; a name may hold anything.
bool is_stopped(const char* stat_path) {
  const int file = ::open(stat_path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[128];
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[n > 0 ? n : 0] = '\0';
  const char* const name_end = std::strrchr(text, ')');
  return name_end && std::strncmp(name_end, ") T", 3) == 0;
}

// Between fork and the end: system calls only.
[[noreturn]] void watch(pid_t launcher, Clock::duration most_stopped) {
  sigset_t all;
  sigfillset(&all);  // those of a terminal reach the whole group, and are the launcher's
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "trainx-guard");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) _exit(0);  // it ended before the line above
  ::close_range(0, ~0U, 0);
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(launcher));
  auto ran = Clock::now();  // when the launcher was last seen to run
  for (auto looked = ran;; ::nanosleep(&pause_between_looks, nullptr)) {
    const auto now = Clock::now();
    if (now - looked > late || !is_stopped(path)) ran = now;
    if (now - ran >= most_stopped) ::kill(launcher, SIGKILL);
    looked = now;
  }
}

}  // namespace

LauncherGuard::LauncherGuard(std::chrono::duration<double> most_stopped) {
  if (most_stopped.count() <= 0) return;
  const pid_t launcher = ::getpid();
  guard_ = ::fork();
  if (guard_ == 0) watch(launcher, std::chrono::duration_cast<Clock::duration>(most_stopped));
}

LauncherGuard::~LauncherGuard() {
  if (guard_ <= 0) return;
  ::kill(guard_, SIGKILL);
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void LauncherGuard::send(int signal) const {
  if (guard_ > 0) ::kill(guard_, signal);
}

}  // namespace trainx::launch
