#include "plan/roles.hpp"
#include <algorithm>

namespace trainx::plan {

int ProgramSet::role_of(int rank) const {
  const auto behind = std::ranges::upper_bound(roles, rank, {}, &RankRole::first_rank);
  return static_cast<int>(behind - roles.begin()) - 1;
}

bool ProgramSet::all(bool Duties::*duty) const {
  return std::ranges::all_of(roles, [duty](const RankRole& r) { return r.*duty; });
}

const MemoryPlan& ProgramSet::largest_memory() const {
  return std::ranges::max_element(roles, {},
                                  [](const RankRole& r) { return r.memory.total_bytes(); })
      ->memory;
}

const std::optional<program::TimePrediction>& ProgramSet::slowest_time() const {
  return std::ranges::max_element(roles, {},
                                  [](const RankRole& r) { return r.time ? r.time->step_s : 0; })
      ->time;
}

ProgramSet plan_program_set(const Draft& plan, Extent extent) {
  ProgramSet set;
  for (const Duties& duties : duties_of(plan))
    set.roles.push_back({duties, plan_programs(plan, extent, duties), {}, {}});
  return set;
}

}  // namespace trainx::plan
