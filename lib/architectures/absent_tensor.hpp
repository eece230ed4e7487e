#pragma once
#include "architectures/architecture.hpp"
#include <string>

namespace trainx::architectures {

/// What a folder without the parameter's tensor means and how to mend it, as the end of a sentence.
/// "": the weights are of another model.
std::string meaning_of_absence(const ModelDims& dims, const std::string& parameter);

}  // namespace trainx::architectures
