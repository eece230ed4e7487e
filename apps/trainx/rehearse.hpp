// `trainx train --rehearse`: in minutes what would otherwise be found out after hours.
#pragma once
#include "inputs.hpp"

namespace trainx::app {

/// Trains the recipe for a few steps in a folder beside the run's, with every sample as long as
/// they may be, evaluates, saves, ends by SIGUSR1, goes on, ends by SIGTERM; holds what was saved
/// against its manifests and the memory taken against the plan. Prints what the whole run will
/// take. Removes the folder, but where something failed. `start` trains a job and returns its exit
/// code. Throws UserError with the code of what failed.
int rehearse(RecipeArguments arguments, const Context& context,
             const std::function<int(const Prepared&)>& start);

}  // namespace trainx::app
