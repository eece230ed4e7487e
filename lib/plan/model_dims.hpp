#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Dimensions of the model: from model.init_from's config.json where given (a differing one in the recipe is an error), else from model.options over
/// model.size over the family's smallest published size; vocab_size from the data source where the recipe does not say. Throws UserError 78.
spec::Gpt2Dims plan_model_dims(const recipe::Recipe& recipe, const facts::Facts& facts);

}  // namespace trainx::plan
