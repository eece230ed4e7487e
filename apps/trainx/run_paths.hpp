#pragma once
#include "recipe/recipe.hpp"
#include <string>
#include <vector>

namespace trainx::app {

/// Relative data paths of a run go by the folder in which it was started (run.json: directory).
/// Where one is not there from here, and is from that folder, `recipe` gets the path that works.
/// Returns the paths that were tried in vain. `but`: keys to leave alone.
std::vector<std::string> find_data(recipe::Recipe& recipe, const std::string& run_folder,
                                   const std::vector<std::string>& but = {});

}  // namespace trainx::app
