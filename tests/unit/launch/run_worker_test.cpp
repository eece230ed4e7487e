// run_worker against small shell scripts in the worker's place, each in a launcher process of its
// own.
#include "core/files.hpp"
#include "launch/job.hpp"
#include "support/catch.hpp"
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace run_worker_test {

namespace {

using namespace trainx;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Launch {
 public:
  /// Starts a launcher whose worker is this shell script; $OUT is a file. `worker`: a file that
  /// stands in its place.
  explicit Launch(const std::string& script, const launch::Job& job = {}, fs::path worker = {}) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "worker") << "#!/bin/bash\nOUT=" << out().string() << "\n" << script;
    fs::permissions(folder_ / "worker", fs::perms::owner_all);
    start(worker.empty() ? folder_ / "worker" : worker, job);
  }
  ~Launch() {
    if (!ended_) ::kill(pid_, SIGKILL), wait();
    fs::remove_all(folder_);
  }
  void signal(int s) const { ::kill(pid_, s); }
  pid_t pid() const { return pid_; }
  /// The launcher's exit code; of an exception its code, as main does it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  fs::path out() const { return folder_ / "out"; }
  std::string text() const { return fs::exists(out()) ? read_file(out()) : ""; }
  /// Waits until the worker has written `text` into $OUT.
  bool wait_for(const std::string& part) const {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms))
      if (text().find(part) != std::string::npos) return true;
    return false;
  }

 private:
  void start(const fs::path& worker, const launch::Job& job) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setenv("TRAINX_WORKER", worker.c_str(), 1);
    int code = 0;
    try {
      code = launch::run_worker(job);
    } catch (const UserError& error) { code = static_cast<int>(error.code()); }
    _exit(code);
  }

  static inline int count_ = 0;
  fs::path folder_ = fs::temp_directory_path() / ("trainx-launch-" + std::to_string(::getpid()) +
                                                  "-" + std::to_string(count_++));
  pid_t pid_ = 0;
  bool ended_ = false;
};

/// A worker that writes the names of the signals it gets, and its process id first.
const std::string signal_writer = R"(exec python3 -c '
import os, signal, sys, time
out = open(sys.argv[1], "a", buffering=1)
def say(number, frame):
  out.write(signal.Signals(number).name + " ")
  out.flush()
  if number == signal.SIGTERM: sys.exit(143)
steering = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2]
for s in steering: signal.signal(s, say)
blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, steering)
print(os.getpid(), "held back:", *sorted(s.name[3:] for s in blocked), "ready", file=out)
while True: time.sleep(0.02)
' $OUT)";

/// State of a process as /proc tells: R or S alive, T stopped, Z ended; 0: gone.
char state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string id, name;
  char state = 0;
  in >> id >> name >> state;
  return state;
}
bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms))
    if (what()) return true;
  return false;
}
bool has_ended(pid_t pid) { return state_of(pid) == 0 || state_of(pid) == 'Z'; }

}  // namespace

TEST_CASE(
    "the exit code passes through, a signal n that ends the worker becomes 128 + n, a missing "
    "worker 69") {
  CHECK(Launch("exit 0").wait() == 0);
  CHECK(Launch("exit 75").wait() == 75);
  CHECK(Launch("exit 143").wait() == 143);
  CHECK(Launch("kill -9 $$").wait() == 137);
  CHECK(Launch("kill -SEGV $$").wait() == 139);
  CHECK(Launch("", {}, "/nonexistent/worker").wait() == 69);
  CHECK(Launch("", {}, "/etc/passwd").wait() == 69);  // not executable
}

TEST_CASE(
    "the worker reads the whole job from descriptor 3, nothing from stdin, and leads a process "
    "group of its own") {
  launch::Job job;
  job.recipe_source = std::string(3 << 20, 'x');  // more than a pipe holds
  Launch launch(
      "read line; echo \"stdin $? $line\" >$OUT; cat <&3 >$OUT.job; exec python3 -c 'import os; "
      "print(os.getpid() == os.getpgrp())' >>$OUT",
      job);
  CHECK(launch.wait() == 0);
  CHECK(launch::job_from_json(nlohmann::json::parse(read_file(launch.out().string() + ".job")))
            .recipe_source == job.recipe_source);
  CHECK(launch.text() == "stdin 1 \nTrue\n");
}

TEST_CASE("signals reach the worker, each once, also those sent before it listens") {
  // nohup may run the tests; then SIGHUP is not forwarded
  const auto before = std::signal(SIGHUP, SIG_DFL);
  Launch launch("echo begun >$OUT; sleep 0.3; " + signal_writer);
  REQUIRE(launch.wait_for("begun"));
  launch.signal(SIGUSR1);
  REQUIRE(launch.wait_for("SIGUSR1 "));
  REQUIRE(launch.wait_for("ready"));
  // and no other
  CHECK(launch.text().find("held back: HUP INT TERM USR1 USR2 ready") != std::string::npos);
  std::signal(SIGHUP, before);
  launch.signal(SIGUSR2);
  REQUIRE(launch.wait_for("SIGUSR2 "));
  launch.signal(SIGHUP);
  REQUIRE(launch.wait_for("SIGHUP "));
  launch.signal(SIGINT);
  launch.signal(SIGINT);  // as `timeout` does, to the process and to its group
  REQUIRE(launch.wait_for("SIGINT "));
  launch.signal(SIGTERM);
  CHECK(launch.wait() == 143);
  CHECK(launch.text().ends_with("SIGUSR2 SIGHUP SIGINT SIGTERM "));
}

TEST_CASE("a second SIGINT ends a worker that does not answer, with 130") {
  Launch launch(signal_writer);
  REQUIRE(launch.wait_for("ready"));
  const pid_t worker = std::stoi(launch.text());
  launch.signal(SIGINT);
  REQUIRE(launch.wait_for("SIGINT "));
  std::this_thread::sleep_for(150ms);
  launch.signal(SIGINT);
  CHECK(launch.wait() == 130);
  CHECK(has_ended(worker));
}

TEST_CASE("kill -9 of the launcher ends the worker") {
  Launch launch(signal_writer);
  REQUIRE(launch.wait_for("ready"));
  const pid_t worker = std::stoi(launch.text());
  CHECK_FALSE(has_ended(worker));
  launch.signal(SIGKILL);
  CHECK(launch.wait() == 1000 + SIGKILL);
  const bool ended = comes_true([&] { return has_ended(worker); });
  if (!ended) ::kill(worker, SIGKILL);  // nobody else would
  CHECK(ended);
}

TEST_CASE("Ctrl-Z suspends both, fg wakes both") {
  Launch launch(signal_writer);
  REQUIRE(launch.wait_for("ready"));
  const pid_t worker = std::stoi(launch.text());
  launch.signal(SIGTSTP);
  CHECK(comes_true([&] { return state_of(launch.pid()) == 'T' && state_of(worker) == 'T'; }));
  launch.signal(SIGCONT);
  CHECK(comes_true([&] { return state_of(worker) == 'S'; }));
  launch.signal(SIGTERM);
  CHECK(launch.wait() == 143);
}

}  // namespace run_worker_test
