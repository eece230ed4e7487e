// What the recipe leaves to trainx so that a run fits its memory: the micro-batch, what is recomputed, and what waits on the host.
#pragma once
#include "passes/passes.hpp"
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// memory.activation_checkpoint and memory.checkpoint_segment as the pass takes them. Throws InternalError while it is auto.
passes::CheckpointLevels checkpoint_levels(const recipe::MemorySection& memory);
/// One level where all are alike.
std::vector<recipe::ActivationCheckpoint> compressed(std::vector<recipe::ActivationCheckpoint> levels);

/// Of the plan's last program; a GPU's step with an optimizer on the host is done when the host is.
double step_seconds(const RunPlan& plan, const program::Rates& rates);

/// Chooses what is auto, and with memory.fit, where the run as written does not fit, micro-batch, recomputation, and on a GPU what waits on the host (activations, the optimizer, and where else nothing fits weights) anew: by `rates` the
/// fastest that fits `budget_bytes` (0: anything fits); without them the least recomputation, and on the host only what must be. The global batch stays. Writes into plan.batch, plan.recipe.memory and
/// plan.choices; where nothing fits, the least that there is.
void choose_what_fits(RunPlan& plan, std::int64_t budget_bytes, const program::Rates* rates);

}  // namespace trainx::plan
