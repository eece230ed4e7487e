#include "plan/roles.hpp"
#include <algorithm>
#include <set>

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

namespace {

/// Of residents of groups that a stage does not keep, each knows what the first that does has.
void tell_stages(ProgramSet& set) {
  if (set.roles.front().train.front().stage_of_group.empty()) return;
  for (RankRole& role : set.roles)
    for (PlacedProgram& placed : role.train) {
      std::set<int> here;
      for (const program::Buffer& b : placed.program.buffers)
        if (b.resident && is_of_group(b)) here.insert(b.index);
      for (const RankRole& other : set.roles)
        for (const program::Buffer& b : other.train.front().program.buffers)
          if (b.resident && is_of_group(b) && !here.contains(b.index) &&
              placed.stage_of_group[static_cast<std::size_t>(b.index)] == other.stage)
            placed.elsewhere.push_back({b, other.stage});
    }
}

}  // namespace

ProgramSet plan_program_set(const Draft& plan, Extent extent) {
  ProgramSet set;
  for (const Duties& duties : duties_of(plan))
    set.roles.push_back({duties, plan_programs(plan, extent, duties), {}, {}});
  tell_stages(set);
  return set;
}

}  // namespace trainx::plan
