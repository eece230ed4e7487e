#pragma once
#include "inputs.hpp"

namespace trainx::app {

/// What becomes of a model folder that has no weights yet.
enum class MissingWeights : bool { refused, noted };

/// Looks at the data and the model folder as `train` does before its first step. Throws what it
/// throws. Answers sentences to note: samples without targets, and "not checked: ..." for data that
/// is too large to be looked through here.
std::vector<std::string> check_inputs(const Prepared& p, MissingWeights weights);

}  // namespace trainx::app
