// The rules of eval.best, eval.early_stopping and generate.
#pragma once
#include "recipe/sections.hpp"

namespace trainx::recipe {

struct BrokenRule {
  std::string key, sentence;
  std::vector<std::string> also;  // keys that the rule looks at beside `key`
};

/// `held_out`: the recipe names held-out data.
std::vector<BrokenRule> broken_evaluation_rules(const Recipe& recipe, bool held_out);
std::vector<BrokenRule> broken_generation_rules(const Recipe& recipe);

}  // namespace trainx::recipe
