// Whether a step casts weights to fp8 once, into copies that all its micro-steps read.
#pragma once
#include "plan/decisions.hpp"

namespace trainx::plan {

/// Weights are cast once if they stay whole on the device for the whole step. Gathered and
/// offloaded weights are cast in each forward and again in backward, and so are all weights if the
/// copies do not fit.
bool casts_weights_once(const Decisions& plan);

/// Decides Decisions::casts_weights_once: false if the run exceeds its budget with the copies. Runs
/// after all other choices of memory, and writes plan.choices.
void choose_weight_casts(Decisions& plan);

}  // namespace trainx::plan
