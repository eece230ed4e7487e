#pragma once
#include "imports/settings.hpp"

namespace trainx::imports {

/// The family that the name of a model, a class or a builder hints at: "llama", "gpt2"; empty for
/// an unknown one.
std::string family_of(std::string_view name);

/// Lists the setting at `key`, the name of a model on a hub or of its builder: as one of a family
/// that trainx does not train, or with the way to get its folder.
void leave_model(Settings& settings, std::string_view key, const std::string& name);

}  // namespace trainx::imports
