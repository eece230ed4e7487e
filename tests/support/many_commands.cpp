// Runs many commands of trainx as forks of one process.
// Each line of stdin is {"words": [...], "folder": "...", "environment": {...}, "processor_s": N,
// "memory_bytes": N}; the last two are limits and may be left out. Each line of stdout answers one:
// {"code": N, "out": "...", "err": "...", "processor_s": N, "memory_bytes": N}. A code below 0 is
// a signal.
#include "apps/trainx/trainx_main.hpp"
#include "core/descriptor.hpp"
#include <nlohmann/json.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

void limit(int resource, const json& question, const char* key) {
  if (!question.contains(key)) return;
  const auto most = question.at(key).get<rlim_t>();
  const rlimit limits{most, most};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &limits) != 0) ::_exit(126);
}

[[noreturn]] void become_command(const json& question, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<std::string> words{"trainx"};
  for (const json& word : question.at("words")) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::clearenv();
  for (const auto& [name, value] : question.at("environment").items())
    ::setenv(name.c_str(), value.get<std::string>().c_str(), 1);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (::chdir(question.at("folder").get<std::string>().c_str()) != 0 ||
      ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0)
    ::_exit(126);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  limit(RLIMIT_CPU, question, "processor_s");
  limit(RLIMIT_AS, question, "memory_bytes");
  const int code = trainx::app::trainx_main(static_cast<int>(words.size()), arguments.data());
  std::fflush(nullptr);
  ::_exit(code);
}

std::string all_of(int file) {
  std::string text(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n =
        ::pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) throw std::runtime_error("a memory file cannot be read");
    done += static_cast<std::size_t>(n);
  }
  return text;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

json answer(const json& question) {
  const trainx::Descriptor out(::memfd_create("stdout", MFD_CLOEXEC)),
      err(::memfd_create("stderr", MFD_CLOEXEC));
  if (!out.is_open() || !err.is_open()) throw std::runtime_error("no memory file");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) become_command(question, out.get(), err.get());
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  return {{"code", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)},
          {"out", all_of(out.get())},
          {"err", all_of(err.get())},
          {"processor_s", seconds_of(used.ru_utime) + seconds_of(used.ru_stime)},
          {"memory_bytes", used.ru_maxrss * 1024}};
}

}  // namespace

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);)
      std::cout << answer(json::parse(line)).dump(-1, ' ', false, json::error_handler_t::replace)
                << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "many_commands: %s\n", error.what());
    return 2;
  }
}
