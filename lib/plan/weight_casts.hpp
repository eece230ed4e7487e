// When a step casts weights to fp8.
#pragma once
#include "graph/fp8_options.hpp"
#include "plan/decisions.hpp"

namespace trainx::plan {

/// Weights are cast once if they stay whole on the device for the whole step. Offloaded weights are
/// cast in each forward and again in backward, and so are all weights if the copies do not fit.
bool casts_weights_once(const Decisions& plan);

/// Ranks that gather weights from each other cast their parts first, so that a byte an element goes
/// between them. Scales of blocks do not fit the borders of parts: with those, weights are cast
/// where they arrive.
bool casts_weights_before_gathers(const Decisions& plan);

graph::Fp8WeightCasts weight_casts_of(const Decisions& plan);

/// Decides Decisions::casts_weights_once: false if the run exceeds its budget with the copies. Runs
/// after all other choices of memory, and writes plan.choices.
void choose_weight_casts(Decisions& plan);

}  // namespace trainx::plan
