#pragma once
#include "core/descriptor.hpp"
#include <string>
#include <string_view>

namespace trainx::launch {

/// Adds to <run folder>/logs/rank-<r>.log what a worker's log does not have: what libraries write
/// to its stderr and stdout. The worker makes the run's folder: until it is there, lines are kept
/// in memory, and a run that is refused leaves nothing behind. A log that cannot be written ends no
/// run.
class RankLog {
 public:
  /// `first_line` goes before the first of them.
  RankLog(std::string run_folder, int rank, const std::string& first_line);
  void write(std::string_view line);
  /// Lines wait for the folder.
  bool waits() const { return !kept_.empty(); }
  /// Writes what is kept, if the folder is there by now.
  void write_kept();

 private:
  std::string run_folder_, path_;
  Descriptor file_;
  bool lost_ = false;              // it cannot be made
  std::string first_line_, kept_;  // the first is written once there is a second
};

}  // namespace trainx::launch
