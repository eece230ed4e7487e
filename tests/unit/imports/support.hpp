// Files of other tools, imported and held against what they should become.
#pragma once
#include "core/error.hpp"
#include "imports/import.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include <map>

namespace trainx::imports::testing {

inline Choices all_chosen() {
  Choices choices;
  choices.model_type = "gpt2";
  choices.data_type = "stories";
  choices.sequence_length = 64;
  return choices;
}

/// Every key of the recipe that the files become; it must be valid.
inline std::map<std::string, std::string> recipe_of(const Imported& imported) {
  INFO(imported.recipe);
  CHECK(imported.asked.empty());
  try {
    const auto keys = recipe::flatten(recipe::parse_recipe(imported.recipe, "r.yaml").recipe);
    return {keys.begin(), keys.end()};
  } catch (const UserError& e) { FAIL(e.what()); }
  return {};
}

inline std::string lines(const std::vector<Leftover>& leftovers) {
  std::string out;
  for (const Leftover& l : leftovers) out += to_string(l) + "\n";
  return out;
}

struct Case {
  std::string text;  // of one file
  std::vector<std::pair<std::string, std::string>> becomes;
  std::vector<std::string> left;  // in order: "key: value: "
};

inline void check_becomes(const Imported& imported, const Case& c) {
  const auto recipe = recipe_of(imported);
  for (const auto& [key, value] : c.becomes) {
    INFO(key);
    CHECK((recipe.contains(key) ? recipe.at(key) : "(not there)") == value);
  }
}

inline void check_left(const Imported& imported, const Case& c) {
  INFO(lines(imported.leftovers));
  REQUIRE(imported.leftovers.size() == c.left.size());
  for (std::size_t i = 0; i < c.left.size(); ++i) {
    const Leftover& l = imported.leftovers[i];
    CHECK((l.key + ": " + l.value + ": " + l.why).starts_with(c.left[i]));
    CHECK_FALSE(l.why.empty());
  }
}

inline void check(const Case& c, const Choices& choices = all_chosen()) {
  INFO(c.text);
  const Imported imported = import_settings({{"f", c.text}}, choices);
  check_becomes(imported, c);
  check_left(imported, c);
}

inline std::string refusal(const std::vector<SourceFile>& files,
                           const Choices& choices = all_chosen()) {
  try {
    import_settings(files, choices);
  } catch (const UserError& e) { return e.what(); }
  return "";
}

}  // namespace trainx::imports::testing
