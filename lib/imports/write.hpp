#pragma once
#include "imports/draft.hpp"

namespace trainx::imports {

/// The draft as a recipe in the order of the schema. Each value says where it is from; keys that
/// are asked for stand there without one. `heading` and the leftovers come first, as comments.
std::string write_recipe(const Draft& draft, const std::string& heading);

/// On one line, whatever a foreign file put into it.
std::string comment(const std::string& text);

}  // namespace trainx::imports
