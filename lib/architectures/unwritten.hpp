#pragma once
#include "architectures/architecture.hpp"
#include <string>

namespace trainx::architectures {

/// What training drops and the config.json of its checkpoints cannot say, a sentence; "": nothing.
std::string unwritten_dropout(const ModelDims& dims);

}  // namespace trainx::architectures
