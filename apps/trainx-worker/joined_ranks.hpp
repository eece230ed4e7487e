#pragma once
#include "comm/part_control.hpp"
#include "launch/job.hpp"
#include "metrics/console.hpp"
#include "plan/run_plan.hpp"
#include "execute/ranks.hpp"
#include <map>

namespace trainx::worker {

/// This worker among the run's ranks, from the moment they have found each other until they part.
class JoinedRanks {
 public:
  /// Returns when all ranks have arrived with the same trainx and plan; at once where there is one.
  /// `plan` must outlive it. Throws UserError 69 or 78.
  JoinedRanks(const launch::Job& job, const plan::RunPlan& plan);

  execute::Ranks ranks();
  /// The run is over, for all ranks at the same time.
  void leave();
  /// This rank ends with an error, of which the others are told, but for one that came from them.
  void leave_with(const std::exception& e);
  /// The same, and ends the process without waiting for what is on the GPU: the other ranks' part
  /// of its collectives may never come.
  [[noreturn]] void end_at_once(const std::exception& e, metrics::Console& console);

 private:
  execute::ProgressDescription progress_;
  std::unique_ptr<comm::Control> control_;
  std::unique_ptr<comm::Communicator> communicator_;
  program::Mesh mesh_;
  std::map<program::AxisSet, comm::Part> groups_;  // of fewer ranks, by Mesh::significant
};

}  // namespace trainx::worker
