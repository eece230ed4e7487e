#pragma once
#include "facts/facts.hpp"
#include "launch/launch_plan.hpp"

namespace trainx::app {

/// How many ranks the run has and which of them are started here, by flags, environment, recipe and
/// GPUs; told to the recipe and to the facts before they are planned with. Throws UserError 78
/// where the recipe's number is another than the launcher's, 2 as launch::decide_membership does.
launch::LaunchPlan decide_ranks(recipe::Recipe& recipe, facts::Facts& facts,
                                const launch::LaunchFlags& flags);

}  // namespace trainx::app
