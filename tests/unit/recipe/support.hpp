#pragma once
#include "recipe/recipe.hpp"
#include "support/catch.hpp"

namespace trainx::recipe {

inline LoadedRecipe parse(const std::string& text, const std::vector<std::string>& overrides = {}, const std::string& environment_set = "") {
  LoadOptions options;
  options.overrides = overrides;
  options.environment_set = environment_set;
  options.environment = [](const std::string&) { return std::nullopt; };
  return parse_recipe(text, "t.yaml", options);
}

/// The problems of a recipe, empty where it is good.
inline std::vector<std::string> problems_of(const std::string& text, const std::vector<std::string>& overrides = {}, const std::string& environment_set = "") {
  try {
    parse(text, overrides, environment_set);
  } catch (const RecipeError& e) {
    CHECK(e.code() == ExitCode::invalid_recipe);
    return e.problems();
  }
  return {};
}

using Lines = std::vector<std::string>;
inline const std::string good_batch = "batch: {global_batch_size: 8, micro_batch_size: 4}\n";

}  // namespace trainx::recipe
