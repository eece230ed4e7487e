// How ranks share the work: parallel.mode.
#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// What the recipe says; with several ranks and auto for now ddp, the fastest where it fits. Throws UserError 78 for what cannot be.
void choose_mode(RunPlan& plan, int rank);

/// Of auto, once batch, dimensions and precision are decided: where ddp does not fit `budget_bytes` (0: anything fits), shards: of zero1, zero2 and zero3, each among the ranks of one node
/// (`local_ranks`) where there are several and among all, the fastest that fits by the links' `rates`, without them the first. What else the recipe leaves to trainx
/// (choose_what_fits) is chosen for each anew; with memory.fit and rates ddp with that is weighed too. Writes into plan.mode, plan.shard_ranks, plan.recipe.parallel and plan.choices; the least where
/// nothing fits.
void choose_shards(RunPlan& plan, std::int64_t local_ranks, std::int64_t budget_bytes, const program::Rates* rates);

/// Throws UserError 78 for shards whose updates on the host (memory.optimizer_offload) would have to sum over tensors of which they have parts.
void require_shards_on_host(const RunPlan& plan);

/// Of zero: among how many ranks shards lie, as the recipe says; of auto those of one node (`local_ranks`) where there are several and they fit `budget_bytes`, else all. Writes as choose_shards does.
void choose_shard_ranks(RunPlan& plan, std::int64_t local_ranks, std::int64_t budget_bytes, const program::Rates* rates);

}  // namespace trainx::plan
