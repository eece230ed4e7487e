#include "log/crash_ring.hpp"
#include "core/files.hpp"
#include "log/log.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace crash_ring_test {

namespace {

using namespace trainx;

/// How a process ends that logs `lines` debug lines and then crashes.
int status_of_crash(const std::string& file, int lines, void (*crash)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // ends one that hangs, by another signal
    log::install_crash_handlers();
    log::set_crash_file(file);
    for (int i = 0; i < lines; ++i) log::debug("line " + std::to_string(i) + ".");
    log::debug(std::string(10000, 'x'));
    crash();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

void raise_segv() { ::raise(SIGSEGV); }
void limit_memory(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = bytes;
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) ::_exit(3);
}
void abort_without_memory() {
  limit_memory(1 << 20);
  std::abort();
}
void fault_without_memory() {
  limit_memory(1 << 20);
  ::raise(SIGSEGV);
}
void abort_with_memory() {
  limit_memory(rlim_t{1} << 40);
  std::abort();
}
void fail() { throw std::runtime_error("nobody catches this"); }
void throw_out() {
  const auto leaves = []() noexcept { fail(); };
  leaves();
}

}  // namespace

TEST_CASE("a crash leaves the last thousand lines, and the process ends by its signal") {
  const TemporaryFolder folder;
  const std::string file = folder / "rank-0.crash.log";
  const int status = status_of_crash(file, 1500, raise_segv);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  const std::string text = read_file(file);
  CHECK(text.starts_with("-- ended by signal SIGSEGV"));
  CHECK(std::ranges::count(text, '\n') == 1 + static_cast<std::ptrdiff_t>(log::ring_lines));
  CHECK(text.find("line 500.") ==
        std::string::npos);  // 1,500 and the long one: the last 1,000 are from 501 on
  CHECK(text.find("line 501.") != std::string::npos);
  CHECK(text.find(": line 1499.\n") != std::string::npos);
}

TEST_CASE("an exception that nobody catches is in the crash file") {
  const TemporaryFolder folder;
  const std::string file = folder / "rank-0.crash.log";
  const int status = status_of_crash(file, 3, throw_out);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(read_file(file).find("nobody catches this") != std::string::npos);
}

TEST_CASE("a library that aborts for lack of memory ends the process with 71 and its lines") {
  const TemporaryFolder folder;
  const std::string file = folder / "rank-0.crash.log";
  for (void (*crash)() : {abort_without_memory, fault_without_memory}) {
    const int status = status_of_crash(file, 3, crash);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 71);
  }
  CHECK(read_file(file).find("got no memory") != std::string::npos);
  CHECK(read_file(file).find(": line 2.\n") != std::string::npos);
}

TEST_CASE("a crash below a limit of memory that is not reached is a crash") {
  const TemporaryFolder folder;
  const int status = status_of_crash(folder / "rank-0.crash.log", 3, abort_with_memory);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
}

TEST_CASE("a crash file on a full disk keeps no process from ending") {
  const int status = status_of_crash("/dev/full", 3, raise_segv);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("without a crash file nothing is written") {
  log::set_crash_file("");
  CHECK_FALSE(log::write_ring("reason"));
}

}  // namespace crash_ring_test
