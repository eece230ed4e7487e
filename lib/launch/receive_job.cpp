#include "launch/job.hpp"
#include "launch/worker_signals.hpp"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <unistd.h>
#include <array>
#include <cerrno>

namespace trainx::launch {
namespace {

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

Job receive_job() {
  // again: the kernel forgets it where TRAINX_WORKER names a script that forks
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const sigset_t held = forwarded_set();
  sigprocmask(SIG_UNBLOCK, &held, nullptr);
  const std::string text = read_to_end(3);
  ::close(3);
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (j.is_discarded())
    throw UserError(
        ExitCode::usage,
        "trainx-worker takes its job from trainx on file descriptor 3; run trainx instead");
  Job job = job_from_json(j);
  if (job.membership.listener >= 0) ::fcntl(job.membership.listener, F_SETFD, FD_CLOEXEC);
  if (job.output.console > STDERR_FILENO) ::fcntl(job.output.console, F_SETFD, FD_CLOEXEC);
  return job;
}

}  // namespace trainx::launch
