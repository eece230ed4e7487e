// Which rank runs what.
#pragma once
#include "plan/prediction.hpp"
#include "plan/programs.hpp"

namespace trainx::plan {

/// What is the same on all ranks of a role.
struct RankRole : Duties, Programs {
  MemoryPlan memory;
  std::optional<program::TimePrediction> time;  // of a step; where rates of the device are known
};

/// The roles of a run, in the order of their ranks.
struct ProgramSet {
  std::vector<RankRole> roles;

  int role_of(int rank) const;
  const RankRole& of(int rank) const { return roles[static_cast<std::size_t>(role_of(rank))]; }
  /// Have all roles the duty, e.g. &Duties::has_loss?
  bool all(bool Duties::*duty) const;
  /// Of the role that takes the most; of the slowest one.
  const MemoryPlan& largest_memory() const;
  const std::optional<program::TimePrediction>& slowest_time() const;
};

/// Programs of all roles, without memory and time.
ProgramSet plan_program_set(const Draft& plan, Extent extent = Extent::whole);

}  // namespace trainx::plan
