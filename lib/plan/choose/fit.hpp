// Chooses micro-batch, recomputation and offload so that a run fits its memory.
#pragma once
#include "passes/passes.hpp"
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// memory.activation_checkpoint and memory.recompute_segment as the pass takes them. Throws
/// InternalError if the level is still auto.
passes::RecomputeLevels recompute_levels(const recipe::MemorySection& memory);
/// A single level if all layers have the same.
std::vector<RecomputeLevel> compressed(std::vector<RecomputeLevel> levels);

/// Predicted seconds of a step of the last program, host updates included.
double step_seconds(const Programs& programs, const program::Rates& rates);

/// Chooses what is auto. With memory.fit, and only if the run does not fit as written, also chooses
/// micro-batch, recomputation and, on a GPU, offload (activations, optimizer, weights as a last
/// resort). With `rates` the fastest candidate that fits `budget_bytes` wins (0: everything fits);
/// without them the one with the least recomputation and offload. The global batch never changes.
/// Writes plan.batch, plan.recipe.memory and plan.choices. If nothing fits: the smallest candidate.
void choose_what_fits(Decisions& plan, std::int64_t budget_bytes, const program::Rates* rates);

}  // namespace trainx::plan
