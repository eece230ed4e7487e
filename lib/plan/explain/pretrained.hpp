// What a recipe that begins with trained weights leaves to defaults that suit new ones.
#pragma once
#include "plan/run_plan.hpp"
#include "recipe/recipe.hpp"
#include <string>
#include <vector>

namespace trainx::plan {

/// Sentences with the key to write. `origins`: of the recipe as it was read.
struct PretrainedRemarks {
  std::vector<std::string> warnings;  // what ruins most models
  std::vector<std::string> hints;
};
/// Nothing for a recipe without model.init_from.
PretrainedRemarks pretrained_remarks(const recipe::Recipe& recipe, const recipe::Origins& origins);

}  // namespace trainx::plan
