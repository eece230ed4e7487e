#include "core/files.hpp"
#include "core/partial_name.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>

namespace partial_name_test {

namespace {

using namespace trainx;
namespace fs = std::filesystem;

/// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST_CASE("the name of a file that is half written tells what it is of and who writes it") {
  const auto partial = partial_from(partial_name("plan.json"));
  REQUIRE(partial);
  CHECK(partial->of == "plan.json");
  CHECK(partial->writer == ::getpid());
  CHECK(partial_from(".checkpoint-4.partial-12-older")->writer == 12);
  for (const char* none : {"", ".", "plan.json", ".plan.json", "plan.json.partial-1", ".partial-1",
                           ".plan.json.partial-", ".plan.json.partial-x", ".plan.json.partial--1",
                           ".plan.json.partial-0", ".plan.json.partial-1x",
                           ".plan.json.partial-99999999999999999999"}) {
    INFO(none);
    CHECK_FALSE(partial_from(none));
  }
}

TEST_CASE("a process that has ended is dead before its parent asks after it") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  const std::string name = folder / ".status.json.partial-" + std::to_string(child);
  write_file_atomic(name, "half");
  remove_partial_files(folder.path());
  CHECK_FALSE(fs::exists(name));
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("files that dead processes left half written are removed, and nothing else") {
  const TemporaryFolder folder;
  const std::string dead = std::to_string(dead_process());
  const std::string mine = partial_name("metrics.jsonl");
  for (const std::string& name : std::initializer_list<std::string>{
           ".plan.json.partial-" + dead, "plan.json", mine, ".x.partial-" + dead + "x"})
    write_file_atomic(folder / name, "half");
  make_folders(folder / ".checkpoint-4.partial-" + dead);
  remove_partial_files(folder.path());
  CHECK_FALSE(fs::exists(folder / ".plan.json.partial-" + dead));
  CHECK(fs::exists(folder / "plan.json"));
  CHECK(fs::exists(folder / mine));
  CHECK(fs::exists(folder / ".x.partial-" + dead + "x"));
  CHECK(fs::exists(folder / ".checkpoint-4.partial-" + dead));
  CHECK_NOTHROW(remove_partial_files(folder / "nowhere"));
}

}  // namespace

}  // namespace partial_name_test
