#include "support/command_server.hpp"
#include "apps/trainx/trainx_main.hpp"
#include "core/descriptor.hpp"
#include <nlohmann/json.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainx::tests {
namespace {

using nlohmann::json;

constexpr double most_seconds = 1200;  // of a command; a hang is a failure

void limit(int resource, const json& question, const char* key) {
  if (!question.contains(key)) return;
  const auto most = question.at(key).get<rlim_t>();
  const rlimit limits{most, most};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &limits) != 0) ::_exit(126);
}

[[noreturn]] void become_command(const json& question, int in, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<std::string> words{"trainx"};
  for (const json& word : question.at("words")) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::clearenv();
  for (const auto& [name, value] : question.at("environment").items())
    ::setenv(name.c_str(), value.get<std::string>().c_str(), 1);
  if (::chdir(question.at("folder").get<std::string>().c_str()) != 0 ||
      ::dup2(in, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0)
    ::_exit(126);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  limit(RLIMIT_CPU, question, "processor_s");
  limit(RLIMIT_AS, question, "memory_bytes");
  const int code = app::trainx_main(static_cast<int>(words.size()), arguments.data());
  std::fflush(nullptr);
  ::_exit(code);
}

Descriptor memory_file(const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.is_open()) throw std::runtime_error("no memory file");
  return file;
}

/// What the command reads: the question's "input" in memory, or nothing.
Descriptor input_of(const json& question) {
  if (!question.contains("input")) return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor file = memory_file("stdin");
  const auto text = question.at("input").get<std::string>();
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n <= 0) throw std::runtime_error("a memory file cannot be written");
    done += static_cast<std::size_t>(n);
  }
  ::lseek(file.get(), 0, SEEK_SET);
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

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

json answer(const json& question) {
  const Descriptor in = input_of(question), out = memory_file("stdout"),
                   err = memory_file("stderr");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) become_command(question, in.get(), out.get(), err.get());
  const Descriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd wait{ended.get(), POLLIN, 0};
  const int most_ms = static_cast<int>(question.value("seconds", most_seconds) * 1000);
  if (::poll(&wait, 1, most_ms) == 0) ::kill(child, SIGKILL);
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  return {{"code", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)},
          {"out", all_of(out)},
          {"err", all_of(err)},
          {"processor_s", seconds_of(used.ru_utime) + seconds_of(used.ru_stime)},
          {"memory_bytes", used.ru_maxrss * 1024}};
}

}  // namespace

int serve_commands(int argc, char** argv) {
  if (argc > 1) return app::trainx_main(argc, argv);
  try {
    for (std::string line; std::getline(std::cin, line);)
      std::cout << answer(json::parse(line)).dump(-1, ' ', false, json::error_handler_t::replace)
                << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
}

}  // namespace trainx::tests
