#include "plan/libraries_fill.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/programs.hpp"
#include "plan/stages.hpp"

namespace trainx::plan {

bool libraries_fill(const Draft& plan) {
  // models of a user are measured in some micro-batches alone
  if (plan.budget_bytes <= 0 || std::holds_alternative<architectures::CustomDims>(plan.dims))
    return false;
  Draft one = plan;
  one.batch.micro_batch_size = smallest_micro_batch(plan);
  one.batch.grad_accum_steps = least_micro_steps(plan);
  if (auto& level = one.recipe.memory.activation_checkpoint; level.is_auto())
    level.value = {RecomputeLevel::none};
  const MemoryPlan memory = plan_memory_totals(one, plan_programs(one, Extent::bytes));
  return memory.library_bytes + memory.process_bytes > plan.budget_bytes;
}

}  // namespace trainx::plan
