// How many workers this process starts, and which ranks they are.
#pragma once
#include "launch/environment.hpp"
#include "launch/launch_flags.hpp"
#include <string>
#include <vector>

namespace trainx::launch {

/// What is known beside flags and environment.
struct LaunchRequest {
  int world_size = 0;             // the recipe's; 0: it leaves that open
  int visible_gpus = 0;           // that the run computes on; 0: on a CPU
  std::string run_name;           // tells runs apart that use one port
  std::string command = "train";  // for the sentences
};

struct LaunchPlan {
  // of the first worker started here; the others' ranks follow it
  comm::Membership first;
  int workers = 1;  // started here
  int max_restarts = 0;
  double hang_seconds = 0;  // run.hang_limit; 0: none
  // of the workers started here, the cores that each is bound to; empty: to none
  std::vector<std::vector<int>> cores;

  /// All ranks are started here: then this process makes the socket that they meet at.
  bool owns_all() const { return workers == first.world_size; }
  /// trainx starts the workers, not torchrun, Slurm or MPI.
  bool is_launcher() const {
    return first.launcher.empty() || first.launcher == "trainx" || first.launcher == "flags";
  }
  /// Of worker 0 <= i < workers.
  comm::Membership membership(int i) const;
};

/// Flags, else the environment (of a pod, or of a rank that another launcher started), else the
/// recipe, else one worker per visible GPU, one on a CPU. Throws UserError 2 where flags lack what
/// they need or the environment is half set.
LaunchPlan decide_membership(const Environment& environment, const LaunchFlags& flags,
                             const LaunchRequest& wish);

}  // namespace trainx::launch
