#include "launch/ask_worker.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "facts/cache.hpp"
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>

extern char** environ;

namespace trainx::launch {
namespace {

[[noreturn]] void refuse(const std::string& worker, const std::string& sentence) {
  throw UserError(ExitCode::unavailable, "the worker " + worker + " " + sentence);
}

/// Memory that a process reads or writes as a file.
class AnonymousFile {
 public:
  explicit AnonymousFile(const char* name) : fd_(::memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0)
      throw UserError(ExitCode::unavailable,
                      "no memory for asking the worker: " + errno_words(errno));
  }
  ~AnonymousFile() { ::close(fd_); }
  AnonymousFile(const AnonymousFile&) = delete;
  AnonymousFile& operator=(const AnonymousFile&) = delete;
  int get() const { return fd_; }
  void write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR)
        throw UserError(ExitCode::out_of_memory,
                        "no memory for asking the worker: " + errno_words(errno));
      if (n > 0) done += static_cast<std::size_t>(n);
    }
    ::lseek(fd_, 0, SEEK_SET);
  }
  std::string read() const {
    std::string text(static_cast<std::size_t>(::lseek(fd_, 0, SEEK_END)), '\0');
    const ssize_t n = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

 private:
  int fd_;
};

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
}

std::string ask(const std::string& worker, const std::string& argument, const std::string& input) {
  const AnonymousFile in("trainx-question"), out("trainx-answer"), err("trainx-errors");
  in.write(input);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.get(), STDERR_FILENO);
  std::string path = worker, question = argument;
  char* arguments[] = {path.data(), question.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, worker.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0)
    refuse(worker, "cannot be started: " + errno_words(error) +
                       "; name one that does with --worker (TRAINX_WORKER)");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw InternalError("waiting for the worker failed");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out.read();
  const std::string words = last_line(err.read());
  refuse(worker,
         "did not answer " + argument + ": it ended with " +
             (WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                : "signal " + std::to_string(WTERMSIG(status))) +
             (words.empty() ? "; is it one of trainx (trainx::worker_main)?" : ": " + words));
}

/// Of the file as it is now; empty where there is none.
std::string identity(const std::string& worker) {
  struct stat s {};
  if (::stat(worker.c_str(), &s) != 0) return {};
  return std::to_string(s.st_size) + " " + std::to_string(s.st_mtim.tv_sec) + "." +
         std::to_string(s.st_mtim.tv_nsec) + " " + std::to_string(s.st_ctim.tv_sec) + "." +
         std::to_string(s.st_ctim.tv_nsec) + " " + std::string(version);
}

}  // namespace

std::string ask_worker(const std::string& worker, const std::string& argument,
                       const std::string& input) {
  std::error_code missing;
  const std::string path = std::filesystem::canonical(worker, missing).string(),
                    file = identity(worker);
  if (missing || file.empty()) return ask(worker, argument, input);
  return facts::remembered_answer("worker-" + hash_hex(path).substr(0, 16) + ".json", file,
                                  hash_hex(argument + "\n" + input),
                                  [&] { return ask(worker, argument, input); });
}

std::string ask_worker_anew(const std::string& worker, const std::string& argument,
                            const std::string& input) {
  return ask(worker, argument, input);
}

}  // namespace trainx::launch
