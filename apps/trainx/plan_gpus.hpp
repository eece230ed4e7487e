#pragma once
#include "context.hpp"
#include "recipe/recipe.hpp"
#include <cstdint>

namespace trainx::app {

/// `plan --gpu all`: a row for each GPU that trainx knows. `price`: of a GPU hour, in EUR; 0: not
/// given. Throws UserError of the recipe if no GPU takes it for another reason than its memory or
/// its types.
int plan_all_gpus(const recipe::LoadedRecipe& loaded, std::int64_t hosts, double price,
                  const Context& context);

}  // namespace trainx::app
