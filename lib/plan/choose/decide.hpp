// Decides what a recipe leaves open: nothing else does.
#pragma once
#include "plan/draft.hpp"
#include "program/time.hpp"
#include <cstdint>

namespace trainx::plan {

/// Chooses parallel.mode and its shards, micro-batch, recomputation, what lies on the host, the
/// share of the optimizer on the device, how long gathered weights stay and when weights are cast,
/// where they are auto, and with memory.fit, if the run does not fit as written, where they have
/// their defaults. The fastest by `rates` that fits plan.budget_bytes (0: everything fits) and the
/// host wins; without rates the one with the least on the host and the least recomputation. The
/// global batch and written values stay. Writes the plan, its recipe and its choices. If nothing
/// fits: the smallest.
/// `local_ranks`: ranks of this node. `rates` null: the device's are not known.
void decide(Draft& plan, const program::Rates* rates, std::int64_t local_ranks);

}  // namespace trainx::plan
