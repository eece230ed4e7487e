#include "equality/command.hpp"
#include "apps/trainx/trainx_main.hpp"
#include "core/descriptor.hpp"
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace trainx::equality {
namespace {

Descriptor memory_file(const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.is_open()) throw std::runtime_error("no memory file");
  return file;
}

std::string all_of(const Descriptor& file) {
  std::string text(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n =
        ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) throw std::runtime_error("a memory file cannot be read");
    done += static_cast<std::size_t>(n);
  }
  return text;
}

[[noreturn]] void become_command(const std::string& folder, std::vector<std::string> words,
                                 const Descriptor& out, const Descriptor& err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (::chdir(folder.c_str()) != 0 || ::dup2(nothing, STDIN_FILENO) < 0 ||
      ::dup2(out.get(), STDOUT_FILENO) < 0 || ::dup2(err.get(), STDERR_FILENO) < 0)
    ::_exit(126);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  words.insert(words.begin(), "trainx");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int code = app::trainx_main(static_cast<int>(words.size()), arguments.data());
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

Ended run_command(const std::string& folder, const std::vector<std::string>& arguments,
                  double limit_s) {
  const Descriptor out = memory_file("stdout"), err = memory_file("stderr");
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) become_command(folder, arguments, out, err);
  const Descriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd wait{ended.get(), POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(limit_s * 1000)) == 0) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  Ended end{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), all_of(out),
            all_of(err),
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  return end;
}

}  // namespace trainx::equality
