// Rules between values that need no facts: each a sentence, at the key that can mend it.
#pragma once
#include "recipe/reader.hpp"

namespace trainx::recipe {

/// `trains`: as LoadOptions has it.
void check_rules(const Recipe& recipe, const Reading& reading, bool trains,
                 yaml::Problems& problems);

/// What the rules of ranks and their batches say of a recipe that was read from nowhere.
std::vector<Problem> parallel_problems(const Recipe& recipe);

}  // namespace trainx::recipe
