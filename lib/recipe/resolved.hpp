// resolved.yaml: the recipe that a run was begun with, all values written out.
#pragma once
#include "recipe/recipe.hpp"
#include <string>

namespace trainx::recipe {

/// The recipe as `dump` writes it, and a last line with the hash of what stands above.
std::string resolved_text(const Recipe& recipe);
/// Throws UserError: 66 it is missing; 65 it is damaged: the hash differs, or it has none, as older
/// versions wrote it, and is no recipe. RecipeError: it is as it was written, and not known here: a
/// model of another worker, another version's keys.
LoadedRecipe read_resolved(const std::string& path);

}  // namespace trainx::recipe
