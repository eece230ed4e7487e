#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Decides the model's dimensions and writes them into recipe.model.options: from model.init_from's
/// config.json where given (a differing one in the recipe is an error), else from model.options
/// over model.size over the family's smallest published size; vocab_size from the data source where
/// the recipe does not say. Throws UserError 78.
architectures::ModelDims plan_model_dims(recipe::Recipe& recipe, const facts::Facts& facts);

}  // namespace trainx::plan
