#pragma once
#include "facts/facts.hpp"

namespace trainx::plan {

/// The dimensions of a model of the user's own; sizes that the recipe leaves open come from the
/// weights that it begins from, else from the data. Throws UserError 78.
architectures::CustomDims decide_custom(architectures::CustomOptions& options,
                                        const recipe::Recipe& recipe, const facts::Facts& facts);

/// How much of their activations the modules can compute again, ascending: all of those that change
/// no buffers, and of selective where there are cheap ones.
std::vector<RecomputeLevel> possible_levels(const architectures::CustomDims& dims);

}  // namespace trainx::plan
