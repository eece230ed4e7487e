// parallel.mode and parallel.shard_ranks.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Takes the mode; shards of zero lie among all ranks.
void set_mode(Decisions& plan, recipe::ParallelMode mode);

/// Takes the recipe's mode; auto becomes single or, for now, ddp. Throws UserError 78 for
/// contradictions.
void choose_mode(Decisions& plan, int rank);

/// For mode auto, after batch, dimensions and precision: if ddp does not fit `budget_bytes` (0:
/// everything fits), tries zero1, zero2 and zero3, each within a node (`local_ranks`) and across
/// all ranks. The fastest that fits by the links' `rates` wins, without rates the first. Each
/// candidate makes its own memory choices (choose_what_fits); with memory.fit and rates, ddp with
/// such choices competes too. Writes plan.mode, plan.mesh.shard, plan.recipe.parallel and
/// plan.choices. If nothing fits: the smallest.
void choose_shards(Decisions& plan, std::int64_t local_ranks, std::int64_t budget_bytes,
                   const program::Rates* rates);

/// Throws UserError 78 if host updates of shards would need sums over whole tensors.
void require_shards_on_host(const Decisions& plan);

/// ZeRO only: the number of ranks that share one copy. auto: the ranks of one node (`local_ranks`)
/// if that fits `budget_bytes`, else all ranks. Writes the same fields as choose_shards.
void choose_shard_ranks(Decisions& plan, std::int64_t local_ranks, std::int64_t budget_bytes,
                        const program::Rates* rates);

}  // namespace trainx::plan
