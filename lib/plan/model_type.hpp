#pragma once
#include "architectures/dims.hpp"
#include <string>

namespace trainx::plan {

/// config.json's model_type; empty: it has none.
std::string model_type_of(const architectures::ModelDims& dims);

}  // namespace trainx::plan
