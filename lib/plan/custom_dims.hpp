#pragma once
#include "facts/facts.hpp"

namespace trainx::plan {

/// The dimensions of a model of the user's own; sizes that the recipe leaves open come from the
/// weights that it begins from, else from the data. Throws UserError 78.
architectures::CustomDims decide_custom(architectures::CustomOptions& options,
                                        const recipe::Recipe& recipe, const facts::Facts& facts);

}  // namespace trainx::plan
