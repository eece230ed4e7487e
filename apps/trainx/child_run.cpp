#include "child_run.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <ctime>
#include <utility>

namespace trainx::app {

HeldRequests::HeldRequests() {
  sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&held_, signal);
  ::sigprocmask(SIG_BLOCK, &held_, &before_);
}

HeldRequests::~HeldRequests() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int HeldRequests::wait(int ms) const {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000L};
  const int signal = ::sigtimedwait(&held_, nullptr, &time);
  return signal > 0 ? signal : 0;
}

ChildRun::ChildRun(const std::vector<std::string>& arguments, const ChildOptions& options,
                   const HeldRequests& held) {
  const std::string self = executable_path();
  std::vector<std::string> words{"trainx"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int output = -1;
  if (!options.output.empty()) {
    output = ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (output < 0)
      throw UserError(ExitCode::cannot_create,
                      options.output + " cannot be made: " + errno_words(errno));
  }
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {  // system calls only, until exec
    ::setpgid(0, 0);    // a terminal's Ctrl-C reaches it once: through its parent
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);
    ::signal(SIGTTOU, SIG_IGN);  // a background group writes to the terminal
    ::sigprocmask(SIG_SETMASK, &held.mask_before(), nullptr);
    if (options.without_settings) ::unsetenv("TRAINX_SET");
    if (output >= 0) ::dup2(output, STDOUT_FILENO), ::dup2(output, STDERR_FILENO);
    ::execv(self.c_str(), argv.data());
    ::_exit(static_cast<int>(ExitCode::unavailable));
  }
  const int error = errno;
  if (output >= 0) ::close(output);
  if (process_ < 0)
    throw UserError(ExitCode::unavailable, "no process can be started: " + errno_words(error));
  ::setpgid(process_, process_);  // whichever of the two comes first
}

ChildRun::ChildRun(ChildRun&& other) noexcept
    : process_(std::exchange(other.process_, -1)), code_(other.code_) {}

ChildRun::~ChildRun() { kill(); }

std::optional<int> ChildRun::exit_code() {
  int status = 0;
  if (!code_ && process_ > 0 && ::waitpid(process_, &status, WNOHANG) == process_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

void ChildRun::send(int signal) const {
  if (!code_ && process_ > 0) ::kill(process_, signal);
}

void ChildRun::kill() {
  if (code_ || process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  code_ = 128 + SIGKILL;
}

}  // namespace trainx::app
