// Checks and timings in groups, each in a process of its own with a time limit, so that a fault or
// a hang in one does not keep the others from running.
#pragma once
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "bench/hopper_attention/harness.hpp"

namespace trainx::bench {

struct Group {
  const char* name;
  int seconds;
  void (*run)(Checks&);
};

/// Groups of one program. `watch` tells kernels where to write what they wait for in vain.
class Groups {
 public:
  Groups(const char* program, std::vector<Group> groups, cudaError_t (*watch)(std::uint32_t*))
      : program_(program), groups_(std::move(groups)), watch_(watch) {}

  /// The one that is named, else all. Returns main's result: 0 if all checks are good, 2 if there
  /// is no such group.
  int run(char* const* arguments, int count) const {
    if (count < 2) return run_all(arguments[0]);
    for (const Group& group : groups_)
      if (std::strcmp(group.name, arguments[1]) == 0) return run_one(group);
    std::fprintf(stderr, "%s: no such group: %s\n", program_, arguments[1]);
    return 2;
  }

 private:
  static void time_is_up(int) {
    std::printf("FAIL past its time limit\n");
    print_wait();
    std::fflush(stdout);
    std::_Exit(4);
  }

  int run_one(const Group& group) const {
    std::signal(SIGALRM, time_is_up);
    alarm(static_cast<unsigned>(group.seconds));
    std::uint32_t* words = nullptr;
    require(cudaHostAlloc(&words, 8 * sizeof *words, cudaHostAllocMapped), "cudaHostAlloc");
    std::fill(words, words + 8, 0u);
    if (watch_(words) == cudaSuccess) wait_words = words;
    cudaGetLastError();
    Checks checks;
    group.run(checks);
    if (wait_words && wait_words[0] != 0) checks.say(false, "all waits end");
    print_wait();
    if (checks.done > 0)
      std::printf("%s: %d of %d checks failed\n", group.name, checks.failed, checks.done);
    std::fflush(stdout);
    return checks.failed > 0 ? 1 : 0;
  }

  int run_all(const char* self) const {
    int bad = 0;
    for (const Group& group : groups_) {
      std::printf("-- %s\n", group.name);
      std::fflush(stdout);
      const pid_t child = fork();
      if (child == 0) {
        execl("/proc/self/exe", self, group.name, static_cast<char*>(nullptr));
        std::_Exit(127);
      }
      int status = 0;
      if (child < 0 || waitpid(child, &status, 0) != child) return 2;
      if (WIFSIGNALED(status))
        std::printf("FAIL %s: stopped by signal %d\n", group.name, WTERMSIG(status));
      bad += status != 0;
    }
    std::printf("%s\n", bad ? "SOME GROUPS FAILED" : "all checks good");
    return bad ? 1 : 0;
  }

  const char* program_;
  std::vector<Group> groups_;
  cudaError_t (*watch_)(std::uint32_t*);
};

}  // namespace trainx::bench
