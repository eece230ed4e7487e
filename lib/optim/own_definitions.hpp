// The optimizers that the user's worker added (trainx::add_optimizer).
#pragma once
#include "options/optim/own.hpp"
#include "trainx/optimizer_definition.hpp"

namespace trainx::optim {

/// InternalError where this worker has no such optimizer.
const OptimizerDefinition& optimizer_definition(const std::string& name);
std::vector<options::OwnOptimizerOptions> optimizer_descriptions();

}  // namespace trainx::optim
