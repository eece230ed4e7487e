#pragma once
#include "core/descriptor.hpp"
#include <string>
#include <string_view>

namespace trainx::launch {

/// <run folder>/logs/rank-<r>.log: what a rank said, of all starts of the run. The worker makes the run's folder: until it is there, lines are kept in memory,
/// and a run that is refused leaves nothing behind. A log that cannot be written ends no run.
class RankLog {
 public:
  /// `first_line` goes before all others.
  RankLog(std::string run_folder, int rank, const std::string& first_line);
  void write(std::string_view line);
  /// Lines wait for the folder.
  bool waits() const { return !kept_.empty(); }
  /// Writes what is kept, if the folder is there by now.
  void write_kept();

 private:
  std::string run_folder_, path_;
  Descriptor file_;
  bool lost_ = false;                   // it cannot be made
  std::string kept_;
};

}  // namespace trainx::launch
