#pragma once
#include "trainx/model_definition.hpp"

namespace trainx::exported {

/// The model `exported`, which every worker has: its graph of modules is read from the folder of
/// model.init_from or of a checkpoint.
ModelDefinition definition();

}  // namespace trainx::exported
