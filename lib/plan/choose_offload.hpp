#pragma once
#include "passes/passes.hpp"
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Which of the model's groups have their optimizer where, by memory.optimizer_offload: the first stay on the device, as large a part of all elements as `share` says (none yet where it is auto), the
/// last are on the disk (all the rest of where: disk). Before anything else is chosen for the run.
void place_optimizer(RunPlan& plan);

/// Once all else is decided: of share: auto as many groups stay on the device as is fastest by `rates` and fits `budget_bytes` (0: anything fits); of cpu+disk the fewest go to the disk with which the
/// rest fits into host memory. Writes into the plan and its choices, and of share: auto into its recipe.
void choose_offload(RunPlan& plan, std::int64_t budget_bytes, const program::Rates* rates);

/// What a rank may take on the host, by memory.optimizer_offload.host_budget and the machine; 0: not known. `budget_bytes`: memory.budget, which without a GPU is of the same memory.
std::int64_t host_budget(const RunPlan& plan, std::int64_t budget_bytes);

/// Of each group.
std::vector<passes::Keeper> keepers_of(const RunPlan& plan, std::size_t groups);

/// Whether groups have their optimizer on the host, or on the disk, whose states pass through it.
inline bool offloads_optimizer(const RunPlan& plan) { return plan.recipe.memory.optimizer_offload.where != recipe::OptimizerOffload::none; }
/// Whether their gradients leave as bf16.
inline bool rounds_gradients(const RunPlan& plan) { return plan.recipe.memory.optimizer_offload.gradients == recipe::OffloadedGradients::bf16; }
/// Whether the optimizer, or weights, are kept in a file.
inline bool uses_disk(const RunPlan& plan) { return recipe::uses_disk(plan.recipe.memory); }
inline bool offloads_weights(const RunPlan& plan) { return plan.recipe.memory.parameter_offload != recipe::ParameterOffload::none; }
inline bool weights_on_disk(const RunPlan& plan) { return plan.recipe.memory.parameter_offload == recipe::ParameterOffload::disk; }

}  // namespace trainx::plan
