#include "doctor/program_output.hpp"
#include "core/files.hpp"
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

extern char** environ;

namespace trainx::doctor {

using namespace facts;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{1} << 20;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) read = ends[0], write = ends[1];
  }
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() {
    if (read >= 0) ::close(std::exchange(read, -1));
  }
  void close_write() {
    if (write >= 0) ::close(std::exchange(write, -1));
  }
};

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Reads both until they are closed; false when the time is over first.
bool read_both(Pipe& out, Pipe& err, ProgramOutput& said, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (out.read >= 0 || err.read >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> files{{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}}};
    if (::poll(files.data(), files.size(), static_cast<int>(left)) < 0 && errno != EINTR)
      return false;
    for (Pipe* pipe : {&out, &err}) {
      if (!(files[pipe == &out ? 0 : 1].revents & (POLLIN | POLLHUP | POLLERR))) continue;
      std::array<char, 4096> piece{};
      const ssize_t n = ::read(pipe->read, piece.data(), piece.size());
      std::string& text = pipe == &out ? said.out : said.err;
      if (n > 0 && text.size() < most_bytes) text.append(piece.data(), static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) pipe->close_read();
    }
  }
  return true;
}

std::string last_line(std::string text) {
  text.resize(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
}

}  // namespace

ProgramOutput run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, double seconds) {
  ProgramOutput said;
  Pipe out, err;
  if (out.read < 0 || err.read < 0) {
    said.problem = "it cannot be started: " + errno_words(errno);
    return said;
  }
  std::vector<std::string> words{program}, variables;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  variables.insert(variables.end(), environment.begin(), environment.end());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write, STDERR_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &files, nullptr,
                                  pointers_to(words).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    said.problem = "it cannot be started: " + errno_words(error);
    return said;
  }
  said.started = true;
  out.close_write();
  err.close_write();
  said.in_time = read_both(out, err, said, seconds);
  if (!said.in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  said.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (!said.in_time)
    said.problem = "it did not answer within " + std::to_string(static_cast<int>(seconds)) + " s";
  else if (said.exit_code != 0)
    said.problem = "it ended with exit code " + std::to_string(said.exit_code) +
                   (last_line(said.err).empty() ? "" : ": " + last_line(said.err));
  return said;
}

}  // namespace trainx::doctor
