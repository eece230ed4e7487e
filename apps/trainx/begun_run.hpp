#pragma once
#include "recipe/recipe.hpp"

namespace trainx::app {

/// A run with checkpoints goes on with what trainx took from model.init_from when it began,
/// whatever that folder says now: the dropout, where the recipe leaves it to the folder, and the
/// snapshot, where init_from is an id of the Hugging Face hub.
void keep_what_the_run_began_with(recipe::LoadedRecipe& loaded);

}  // namespace trainx::app
