#pragma once
#include "yaml/node.hpp"

namespace trainx::imports {

/// Replaces ${a.b} in scalars by the scalar at that key, as OmegaConf does; an unknown one stays.
void interpolate(yaml::Node& root);

}  // namespace trainx::imports
