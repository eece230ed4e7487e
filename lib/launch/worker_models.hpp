// Models of a worker of the user's own: what they take in memory.
#pragma once
#include "facts/facts.hpp"

namespace trainx::launch {

/// Where the recipe's model is of the user's own: lets the worker measure it in the sizes that the
/// plan needs, and puts that into the facts. Throws UserError 78 for a model that cannot be
/// trained, 69 where the worker cannot be asked.
void measure_model(const recipe::Recipe& recipe, facts::Facts& facts);

}  // namespace trainx::launch
