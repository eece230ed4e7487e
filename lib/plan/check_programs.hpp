#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Holds the programs of all roles against sequential training (program::check_program). Throws
/// InternalError with the first problem.
void require_sound_programs(const Draft& plan, const ProgramSet& set);

}  // namespace trainx::plan
