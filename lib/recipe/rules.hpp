// Rules between values that need no facts: each a sentence, at the key that can mend it.
#pragma once
#include "recipe/reader.hpp"

namespace trainx::recipe {

void check_rules(const Recipe& recipe, const Reading& reading, yaml::Problems& problems);

}  // namespace trainx::recipe
