#pragma once
#include "data/source.hpp"

namespace trainx::data {

/// Samples of several sources as those of one: all of the first, then all of the second, and so on.
/// A single source is returned as it is.
std::unique_ptr<Source> join_sources(std::vector<std::unique_ptr<Source>> sources);

}  // namespace trainx::data
