#pragma once
#include "train/loop_channel.hpp"
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace trainx::worker {

/// A worker on a thread of its own, which trains while a loop in main waits for it, and waits while
/// that has control.
class OwnLoop {
 public:
  /// Returns at rest before the first step. Ends the process, with the worker's exit code, if there
  /// is none: another job, a question of the launcher, an error, a run that is done.
  explicit OwnLoop(std::vector<std::string> arguments);
  /// Closes the run.
  ~OwnLoop();
  OwnLoop(const OwnLoop&) = delete;
  OwnLoop& operator=(const OwnLoop&) = delete;

  train::LoopChannel& channel() { return channel_; }
  /// Ends the run as far as it came. Returns the exit code.
  int close() { return end({train::LoopCall::Kind::close, {}, {}, {}}); }
  /// Ends the run as failed, of which people and other ranks are told. Returns the exit code.
  int fail(ExitCode code, const std::string& sentence) {
    return end({train::LoopCall::Kind::fail, {}, sentence, code});
  }

 private:
  void work(const std::vector<std::string>& arguments);
  int end(train::LoopCall how);

  train::LoopChannel channel_;
  int exit_code_ = 0;
  std::thread worker_;  // last: it uses all the above
};

}  // namespace trainx::worker
