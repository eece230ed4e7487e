#pragma once
#include "options/data/options.hpp"
#include <string>
#include <vector>

namespace trainx::facts {

/// Names of the classes as FILE.json beside the files of labelled data says, which `trainx data
/// tokenize` wrote; empty: the classes have numbers alone. Throws UserError 65 for files that name
/// other classes, or the same in another order.
std::vector<std::string> label_names_of(const options::DataOptions& options);

}  // namespace trainx::facts
