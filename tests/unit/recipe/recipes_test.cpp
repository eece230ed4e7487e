// tests/recipes/good are read; tests/recipes/bad complain as their leading `# expect: line:column: ...` comments say, no more and no less.
#include "support.hpp"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace trainx::recipe {
namespace {

namespace fs = std::filesystem;

/// Recipes are named from the top of the tree, as users do.
std::vector<std::string> recipes(const std::string& folder) {
  fs::current_path(TRAINX_SOURCE_DIR);
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() >= 5);
  return paths;
}

}  // namespace

TEST_CASE("good recipes are read, and read the same after a dump") {
  for (const std::string& path : recipes("tests/recipes/good")) {
    INFO(path);
    try {
      const LoadedRecipe loaded = load_recipe(path);
      const std::string text = dump(loaded.recipe);
      const LoadedRecipe again = parse_recipe(text, "resolved.yaml");
      CHECK(flatten(again.recipe) == flatten(loaded.recipe));
      CHECK(dump(again.recipe) == text);
      CHECK(parse_recipe(dump(loaded.recipe, &loaded.origins), "resolved.yaml").recipe.run.name == loaded.recipe.run.name);
    } catch (const UserError& e) {
      FAIL(e.what());
    }
  }
}

TEST_CASE("bad recipes complain about everything that is wrong, and nothing else") {
  for (const std::string& path : recipes("tests/recipes/bad")) {
    INFO(path);
    Lines expected;
    std::ifstream file(path);
    const std::string mark = "# expect: ";
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(mark)) expected.push_back(path + ":" + line.substr(mark.size()));
    REQUIRE_FALSE(expected.empty());
    Lines problems;
    try {
      load_recipe(path);
    } catch (const RecipeError& e) {
      problems = e.problems();
      CHECK(e.code() == ExitCode::invalid_recipe);
      CHECK(std::count(e.what(), e.what() + std::string(e.what()).size(), '\n') + 1 == static_cast<long>(problems.size()));
    }
    CHECK(problems == expected);
  }
}

TEST_CASE("a recipe that is not there is exit code 66, with the file that was meant") {
  fs::current_path(TRAINX_SOURCE_DIR);
  const auto code_and_sentence = [](const std::string& path) {
    try {
      load_recipe(path);
    } catch (const UserError& e) {
      return std::pair{e.code(), std::string(e.what())};
    }
    return std::pair{ExitCode::ok, std::string()};
  };
  CHECK(code_and_sentence("tests/recipes/good/minimla.yaml") ==
        std::pair{ExitCode::input_missing, std::string("the recipe tests/recipes/good/minimla.yaml does not exist (did you mean 'tests/recipes/good/minimal.yaml'?)")});
  CHECK(code_and_sentence("tests/recipes") == std::pair{ExitCode::input_missing, std::string("the recipe tests/recipes is a folder, not a recipe")});
  CHECK(code_and_sentence("").first == ExitCode::input_missing);
  CHECK(code_and_sentence("no/such/folder/x.yaml").first == ExitCode::input_missing);
}

}  // namespace trainx::recipe
