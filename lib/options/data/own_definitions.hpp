// The data sources that the user's worker added (trainx::add_data_source).
#pragma once
#include "options/data/own.hpp"

namespace trainx::options {

std::vector<OwnDataOptions> data_source_descriptions();

}  // namespace trainx::options
