#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Of checkpoint.asynchronous: auto, once all else is decided and fits: on a GPU checkpoints are
/// written beside training where the host's memory is known to hold their copy beside all else that
/// the run takes there. Nothing else gives way to it. Writes into plan.recipe, `memory` and
/// plan.choices.
void choose_asynchronous(Draft& plan, ProgramSet& set);

}  // namespace trainx::plan
