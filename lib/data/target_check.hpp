#pragma once
#include "data/source.hpp"

namespace trainx::data {

/// A sentence for each file with samples of which nothing is learned, or that are cut. Throws
/// UserError 65 if the split has no target at all: a run on it would learn nothing.
std::vector<std::string> check_targets(const Source& source, Split split);

}  // namespace trainx::data
