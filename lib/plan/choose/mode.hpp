// parallel.mode and parallel.shard_ranks.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Takes the mode; shards of zero lie among all ranks.
void set_mode(Draft& plan, recipe::ParallelMode mode);

/// Takes the recipe's mode; auto becomes single or, for now, ddp. Throws UserError 78 for
/// contradictions.
void choose_mode(Draft& plan);

/// What each rank keeps in a mode of shards, as a sentence says it.
std::string what_is_kept(recipe::ParallelMode mode);

/// Throws UserError 78 if host updates of shards would need sums over whole tensors.
void require_shards_on_host(const Draft& plan);

}  // namespace trainx::plan
