// What a worker of the user's own has: models, optimizers, schedules, data sources.
#pragma once
#include <string>

namespace trainx::launch {

/// Makes what `worker --describe` tells known to the reader of recipes. Throws UserError 69: it
/// cannot be started, is no worker of trainx, or of another version.
void describe_worker(const std::string& worker);

}  // namespace trainx::launch
