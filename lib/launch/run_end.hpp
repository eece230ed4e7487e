// How a run of several workers ended: whose end tells why, and whether starting them again may
// help.
#pragma once
#include <chrono>
#include <span>
#include <string>

namespace trainx::launch {

/// How one worker ended.
struct RankEnd {
  int rank = 0;
  int status = 0;  // as waitpid tells
  std::chrono::steady_clock::time_point at;
  bool by_launcher = false;  // ended by it, for another's failure
  bool was_stopped = false;  // by SIGSTOP or its like, and killed for it
  bool begun = true;         // false: it ended while its libraries were loaded

  int exit_code() const;  // 128 + n: a signal n ended it
  bool by_signal() const;
  /// Not done, and not stopped with a checkpoint either: the others cannot go on without it.
  bool failed() const;
};

/// The end that says why the run did. `ends`: in the order in which they came. The first failure
/// does; one that tells of another's (81, 82) only where no other comes within two seconds of it.
/// Null: all did what they were to do.
const RankEnd* decisive_end(std::span<const RankEnd> ends);

/// A failure of the machine's rather than the user's: devices, files, peers, or a signal that
/// nobody sent through the launcher.
bool may_pass(const RankEnd& end);

/// "rank 2 was ended by signal 9 (Killed)", "rank 2 ended with 69"
std::string words_of(const RankEnd& end);

}  // namespace trainx::launch
