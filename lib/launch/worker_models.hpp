// Models of a worker of the user's own: what they are, and what they take in memory.
#pragma once
#include "facts/facts.hpp"

namespace trainx::launch {

/// The models that `worker --describe` tells. Throws UserError 69: it cannot be started, is no
/// worker of trainx, or of another version.
std::vector<architectures::CustomOptions> ask_for_models(const std::string& worker);

/// Where the recipe's model is one of those: lets the worker measure it in the sizes that the plan
/// needs, and puts that into the facts. Throws UserError 78 for a model that cannot be trained, 69
/// as above.
void measure_model(const recipe::Recipe& recipe, facts::Facts& facts);

}  // namespace trainx::launch
