#pragma once
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace trainx::recipe {

inline LoadedRecipe parse(const std::string& text, const std::vector<std::string>& overrides = {},
                          const std::string& environment_set = "") {
  LoadOptions options;
  options.overrides = overrides;
  options.environment_set = environment_set;
  options.environment = [](const std::string&) { return std::nullopt; };
  return parse_recipe(text, "t.yaml", options);
}

/// Each problem of a recipe as `file:line:col: key: message`.
inline std::vector<std::string> lines_of(const RecipeError& error) {
  std::vector<std::string> lines;
  for (const Problem& problem : error.problems()) lines.push_back(problem.text());
  return lines;
}

/// The problems of a recipe, empty where it is good.
inline std::vector<std::string> problems_of(const std::string& text,
                                            const std::vector<std::string>& overrides = {},
                                            const std::string& environment_set = "") {
  try {
    parse(text, overrides, environment_set);
  } catch (const RecipeError& e) {
    CHECK(e.code() == ExitCode::invalid_recipe);
    return lines_of(e);
  }
  return {};
}

using Lines = std::vector<std::string>;
inline const std::string good_batch = "batch: {global_batch_size: 8, micro_batch_size: 4}\n";

}  // namespace trainx::recipe
