#include "plan/choose/saving.hpp"
#include "core/units.hpp"
#include "plan/choose/offload.hpp"
#include "plan/memory_plan.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

// The rest is for what is not planned: libraries in this process, other processes, and pages of
// files.
constexpr double planned_share_of_host = 0.9;

}  // namespace

// No decision of the search (Decisions): while the key is auto a copy gives way to all else
// (snapshot_bytes_of), so that no choice fits the less for it, and no predicted time has it. What
// the search has chosen stays the best whichever value is taken here.
void choose_asynchronous(Draft& plan, ProgramSet& set) {
  auto& asynchronous = plan.recipe.checkpoint.asynchronous;
  if (!asynchronous.is_auto()) return;
  asynchronous.value = false;
  // the copy would be in the memory that training has, or of what has no room in any
  if (!plan.on_gpu || uses_disk(plan)) return;
  const std::string key = "checkpoint.asynchronous ";
  const std::int64_t has = plan.host_memory_bytes;
  if (has <= 0)
    return plan.choices.push_back(key + "false: how much memory the host has is not known");
  asynchronous.value = true;
  std::vector<MemoryPlan> with_copy;  // by role
  std::int64_t need = 0;
  for (const RankRole& role : set.roles)
    need = std::max(need, host_need(with_copy.emplace_back(plan_memory_budget(plan, role))));
  const std::string takes = human_bytes(need) + " of the host's " + human_bytes(has);
  if (static_cast<double>(need) > planned_share_of_host * static_cast<double>(has)) {
    asynchronous.value = false;
    return plan.choices.push_back(key + "false: with a copy of what is saved the run would take " +
                                  takes + ", of which a tenth is left to what is not planned");
  }
  for (std::size_t k = 0; k < with_copy.size(); ++k)  // all that is other
    set.roles[k].memory.beside_host_bytes = with_copy[k].beside_host_bytes;
  plan.choices.push_back(
      key +
      "true: what is saved is copied, and written beside the steps that follow; the run takes " +
      takes);
}

}  // namespace trainx::plan
