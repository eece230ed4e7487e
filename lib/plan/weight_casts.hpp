// When a step casts weights to fp8.
#pragma once
#include "graph/fp8_options.hpp"
#include "plan/draft.hpp"

namespace trainx::plan {

/// Weights are cast once if they stay whole on the device for the whole step. Offloaded weights are
/// cast in each forward and again in backward, and so are all weights if the copies do not fit.
bool casts_weights_once(const Draft& plan);

/// ... and those that are not trained once a run, where the rank has them whole and all its
/// programs multiply the same weights in fp8. Ranks of zero1 to zero3 and replicas of dp get
/// weights anew in each step.
bool casts_weights_once_a_run(const Draft& plan);

/// Ranks that gather weights from each other cast their parts first, so that a byte an element goes
/// between them. Scales of blocks do not fit the borders of parts: with those, weights are cast
/// where they arrive.
bool casts_weights_before_gathers(const Draft& plan);

operations::Fp8WeightCasts weight_casts_of(const Draft& plan);

}  // namespace trainx::plan
