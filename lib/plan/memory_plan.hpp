#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// (Re)makes plan.train and plan.evaluate from the decided dimensions, batch, precision and memory section.
void plan_programs(RunPlan& plan);

/// Bytes by category at the peak of the training step, the arena that holds both programs, and the library's share.
MemoryPlan plan_memory_budget(const RunPlan& plan);

/// Throws UserError 71 when the plan exceeds its budget: by how much, and which activation_checkpoint or micro_batch_size would fit.
void require_fits(const RunPlan& plan);

}  // namespace trainx::plan
