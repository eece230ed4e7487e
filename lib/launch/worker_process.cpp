#include "launch/worker_process.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/thread_limit.hpp"
#include "core/descriptor.hpp"
#include "launch/core_set.hpp"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdio_ext.h>

namespace trainx::launch {
namespace {

constexpr int job_descriptor = 3, listener_descriptor = 4, console_descriptor = 5;

[[noreturn]] void cannot_start(const std::string& worker, int error) {
  if (error == EAGAIN) throw UserError(ExitCode::out_of_memory, thread_limit_sentence());
  throw UserError(ExitCode::unavailable, "the worker " + worker +
                                             " cannot be started: " + std::strerror(error) +
                                             "; build it beside trainx (scripts/trainx does), or "
                                             "name it with --worker (TRAINX_WORKER)");
}

/// Memory behind a descriptor that holds the job, sealed: the worker may read at its own pace, and
/// nobody waits for a full pipe.
Descriptor sealed_memory(const std::string& text) {
  Descriptor memory(::memfd_create("trainx-job", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open())
    throw UserError(ExitCode::unavailable,
                    std::string("no memory for the worker's job: ") + std::strerror(errno));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(memory.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw UserError(ExitCode::out_of_memory,
                      std::string("no memory for the worker's job: ") + std::strerror(errno));
    done += static_cast<std::size_t>(n);
  }
  ::lseek(memory.get(), 0, SEEK_SET);
  ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return memory;
}

/// A descriptor that the worker gets: `from` here becomes `to` there.
struct Handed {
  int from, to;
};

int (*forked_body)(int, char**) = nullptr;

/// Does to this process what exec would do, and calls forked_body.
[[noreturn]] void call_body() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN &&
        now.sa_handler != SIG_DFL)
      ::signal(number, SIG_DFL);
  }
  ::close_range(console_descriptor + 1, ~0U, 0);
  __fpurge(stdout);
  __fpurge(stderr);
  char name[] = "trainx-worker";
  char* arguments[] = {name, nullptr};
  const int code = forked_body(1, arguments);
  std::fflush(nullptr);
  ::_exit(code);
}

// Between fork and exec: system calls only. Reports errno through `failed`, which a successful exec
// closes. A null `path` is that of call_body.
[[noreturn]] void become_worker(const char* path, std::array<Handed, 6> files, int failed,
                                pid_t parent, const sigset_t& mask, const CoreSet& cores) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the launcher's end is the worker's, kill -9 included
  if (::getppid() != parent) _exit(128 + SIGKILL);  // it ended before the line above
  // a background group may write to the terminal, also under `stty tostop`
  ::signal(SIGTTOU, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  cores.bind();  // before the first library counts them
  // Out of the way first: any of them may itself be one of the numbers that are handed out.
  const int failed_high = ::fcntl(failed, F_DUPFD_CLOEXEC, console_descriptor + 1);
  bool handed = failed_high >= 0;
  for (Handed& file : files)
    if (file.from >= 0)
      handed = (file.from = ::fcntl(file.from, F_DUPFD_CLOEXEC, console_descriptor + 1)) >= 0 &&
               handed;
  for (const Handed& file : files)
    if (file.from >= 0) handed = ::dup2(file.from, file.to) >= 0 && handed;
  if (handed && !path) call_body();
  if (handed) ::execl(path, path, static_cast<char*>(nullptr));
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

void start_workers_as_forks(int (*body)(int, char**)) { forked_body = body; }

bool WorkerProcess::has_begun() const { return ::lseek(job.get(), 0, SEEK_CUR) != 0; }

WorkerProcess start_worker(const std::string& path, Job job, const WorkerFiles& files,
                           const HeldSignals& held) {
  job.membership.listener = files.listener < 0 ? -1 : listener_descriptor;
  job.output.console = files.console < 0 ? STDERR_FILENO : console_descriptor;
  Descriptor memory =
      sealed_memory(to_json(job).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const Descriptor nothing(job.bench.paced ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int failed[2];
  if ((!nothing.is_open() && !job.bench.paced) || ::pipe2(failed, O_CLOEXEC) != 0)
    cannot_start(path, errno);
  const Descriptor failure(failed[0]);
  Descriptor failing(failed[1]);
  const std::array<Handed, 6> handed{{{memory.get(), job_descriptor},
                                      {files.listener, listener_descriptor},
                                      {files.console, console_descriptor},
                                      {nothing.get(), STDIN_FILENO},
                                      {files.output, STDOUT_FILENO},
                                      {files.errors, STDERR_FILENO}}};
  const CoreSet cores(job.cores);
  const pid_t launcher = ::getpid();
  const bool executes = !forked_body || !environment_variable("TRAINX_WORKER").empty();
  const pid_t worker = ::fork();
  if (worker < 0) cannot_start(path, errno);
  if (worker == 0)
    become_worker(executes ? path.c_str() : nullptr, handed, failing.get(), launcher,
                  held.of_worker(), cores);
  ::setpgid(worker, worker);  // whichever of the two comes first
  failing.close();
  if (const int error = exec_error(failure.get()); error != 0) {
    while (::waitpid(worker, nullptr, 0) < 0 && errno == EINTR) continue;
    cannot_start(path, error);
  }
  return {worker, std::move(memory)};
}

}  // namespace trainx::launch
