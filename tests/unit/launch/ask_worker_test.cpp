// Asking a worker: what it answers is kept until its file or the question is another; what it
// cannot answer is told.
#include "launch/ask_worker.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ask_worker_test {

using namespace trainx;

namespace {

struct Worker {
  TemporaryFolder folder;
  std::string path = folder.path() + "/worker";
  Worker() { ::setenv("XDG_CACHE_HOME", (folder.path() + "/cache").c_str(), 1); }
  ~Worker() { ::unsetenv("XDG_CACHE_HOME"); }
  /// It counts in a file how often it was asked.
  void write(const std::string& body) const {
    std::ofstream(path) << "#!/bin/sh\necho x >> " << folder.path() << "/asked\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  std::size_t asked() const {
    return std::filesystem::exists(folder.path() + "/asked")
               ? read_file(folder.path() + "/asked").size() / 2
               : 0;
  }
};

}  // namespace

TEST_CASE("an answer is kept until the worker or the question is another") {
  Worker worker;
  worker.write("printf '%s:' $1; cat");
  CHECK(launch::ask_worker(worker.path, "--describe", "input") == "--describe:input");
  CHECK(launch::ask_worker(worker.path, "--describe", "input") == "--describe:input");
  CHECK(worker.asked() == 1);
  CHECK(launch::ask_worker(worker.path, "--describe", "other") == "--describe:other");
  CHECK(launch::ask_worker(worker.path, "--graph", "input") == "--graph:input");
  CHECK(launch::ask_worker(worker.path, "--describe", "input") == "--describe:input");
  CHECK(worker.asked() == 3);
  worker.write("printf 'rebuilt:'; cat");
  CHECK(launch::ask_worker(worker.path, "--describe", "input") == "rebuilt:input");
  CHECK(worker.asked() == 4);
  const std::string large(3 << 20, 'a');  // no pipe fills up
  CHECK(launch::ask_worker(worker.path, "--describe", large) == "rebuilt:" + large);
}

TEST_CASE("a damaged cache is asked past, and one that cannot be written is no problem") {
  Worker worker;
  worker.write("echo fine");
  for (const char* damage : {"", "{", "[]", "{\"state\": 3}", "{\"answers\": 7}"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(worker.folder.path()))
      if (entry.path().extension() == ".json") std::ofstream(entry.path()) << damage;
    CHECK(launch::ask_worker(worker.path, "--describe", "") == "fine\n");
  }
  CHECK(worker.asked() == 5);
  ::setenv("XDG_CACHE_HOME", "/proc/none", 1);
  CHECK(launch::ask_worker(worker.path, "--describe", "") == "fine\n");
}

TEST_CASE("what a worker cannot answer is told, and not kept") {
  Worker worker;
  worker.write("echo first >&2; echo it broke >&2; exit 3");
  const std::string told =
      user_error_of([&] { launch::ask_worker(worker.path, "--describe", ""); });
  check_error("launch.ask_worker/worker_did_not_answer_describe", 69, told);
  user_error_of([&] { launch::ask_worker(worker.path, "--describe", ""); });
  CHECK(worker.asked() == 2);
  check_error("launch.ask_worker/worker_nowhere_worker_cannot_started", 69,
              user_error_of([&] { launch::ask_worker("/nowhere/worker", "--describe", ""); }));
  CHECK(user_error_of([&] {
          launch::ask_worker(worker.folder.path(), "--describe", "");
        }).starts_with("69: "));
}

}  // namespace ask_worker_test
