// Whether a step casts weights to fp8 once, into copies that all its micro-steps read.
#pragma once
#include "plan/decisions.hpp"

namespace trainx::plan {

/// Weights that stay on the device, whole and the same, from the first forward of a step to its
/// last backward can be cast once; gathered and offloaded ones are cast in each forward and again
/// in backward. So are all where it was decided that the copies have no room.
bool casts_weights_once(const Decisions& plan);

/// Decides Decisions::casts_weights_once: false where the run fits its budget only without the
/// copies, or not at all. Runs after all other choices of memory; writes plan.choices.
void choose_weight_casts(Decisions& plan);

}  // namespace trainx::plan
