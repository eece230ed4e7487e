#include "core/process.hpp"
#include "launch/job.hpp"
#include "launch/worker_signals.hpp"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace trainx::launch {
namespace {

constexpr int job_descriptor = 3;

[[noreturn]] void cannot_start(const std::string& worker, int error) {
  throw UserError(ExitCode::unavailable, "the worker " + worker + " cannot be started: " + std::strerror(error) +
                                             "; build it beside trainx (scripts/trainx does), or name it with --worker (TRAINX_WORKER)");
}

/// Memory behind a descriptor that holds the job, sealed: the worker may read at its own pace, and nobody waits for a full pipe.
int sealed_memory(const std::string& text) {
  const int fd = ::memfd_create("trainx-job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw UserError(ExitCode::unavailable, std::string("no memory for the worker's job: ") + std::strerror(errno));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      throw UserError(ExitCode::out_of_memory, std::string("no memory for the worker's job: ") + std::strerror(error));
    }
    done += static_cast<std::size_t>(n);
  }
  ::lseek(fd, 0, SEEK_SET);
  ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

// Between fork and exec: system calls only. Reports errno through `failed`, which a successful exec closes.
[[noreturn]] void become_worker(const char* path, int job, int failed, pid_t launcher, const sigset_t& mask, bool listens) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);   // the launcher's end is the worker's, kill -9 included
  if (::getppid() != launcher) _exit(128 + SIGKILL);   // it ended before the line above
  ::signal(SIGTTOU, SIG_IGN);           // a background group may write to the terminal, also under `stty tostop`
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  // `failed` may itself be descriptor 3.
  const int failed_high = ::fcntl(failed, F_DUPFD_CLOEXEC, job_descriptor + 1);
  const int job_high = ::fcntl(job, F_DUPFD_CLOEXEC, job_descriptor + 1);
  const int input = listens ? STDIN_FILENO : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (failed_high >= 0 && job_high >= 0 && input >= 0 && ::dup2(job_high, job_descriptor) >= 0 && ::dup2(input, STDIN_FILENO) >= 0)
    ::execl(path, path, static_cast<char*>(nullptr));
  const int error = errno;
  if (::write(failed_high >= 0 ? failed_high : failed, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

/// errno of the exec, 0 when it succeeded (the pipe was closed by it).
int exec_error(int fd) {
  int error = 0;
  ssize_t n = 0;
  do n = ::read(fd, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

std::string worker_path() {
  if (const std::string named = environment_variable("TRAINX_WORKER"); !named.empty()) return named;
  return std::filesystem::path(executable_path()).replace_filename("trainx-worker").string();
}

int run_worker(const Job& job) {
  const std::string path = worker_path();
  const int job_fd = sealed_memory(to_json(job).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) cannot_start(path, errno);
  const HeldSignals held;
  const pid_t launcher = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) cannot_start(path, errno);
  if (worker == 0) become_worker(path.c_str(), job_fd, failed[1], launcher, held.of_worker(), job.bench.paced);
  ::setpgid(worker, worker);            // whichever of the two comes first
  ::close(failed[1]);
  ::close(job_fd);
  const int error = exec_error(failed[0]);
  ::close(failed[0]);
  const WorkerEnd end = wait_and_forward(worker, held);
  if (error != 0) cannot_start(path, error);
  if (WIFEXITED(end.status)) return WEXITSTATUS(end.status);
  const std::string resume = "; the same command goes on from the newest checkpoint";
  if (end.interrupted_twice) throw UserError(static_cast<ExitCode>(128 + SIGINT), "interrupted twice: ended at once" + resume);
  const int signal = WTERMSIG(end.status);
  throw UserError(static_cast<ExitCode>(128 + signal), "the worker was ended by signal " + std::to_string(signal) + " (" + signal_name(signal) + ")" +
                                                           (signal == SIGKILL ? ", which is also how the kernel ends a process when memory runs out" : "") + resume);
}

}  // namespace trainx::launch
