#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Holds the plan's programs against sequential training (program::check_program): of dp both
/// roles, whichever this plan is of, as what one sends the other has to take; of shards those of
/// all ranks. Throws InternalError with the first problem.
void require_sound_programs(const Draft& plan, const Programs& programs);

}  // namespace trainx::plan
