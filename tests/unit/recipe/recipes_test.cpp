// tests/recipes/good are read; tests/recipes/bad have the problems of their leading `# expect:
// line:column: key` comments.
#include "support.hpp"
#include "support/golden.hpp"
#include "support/source_dir.hpp"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace trainx::recipe::recipes_test {
namespace {

namespace fs = std::filesystem;

/// Recipes are named from the top of the tree, as users do.
std::vector<std::string> recipes(const std::string& folder) {
  fs::current_path(source_dir());
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
      CHECK(parse_recipe(dump(loaded.recipe, &loaded.origins), "resolved.yaml").recipe.run.name ==
            loaded.recipe.run.name);
    } catch (const UserError& e) { FAIL(e.what()); }
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
    std::string lines;
    try {
      load_recipe(path);
    } catch (const RecipeError& e) {
      for (const Problem& p : e.problems()) {
        lines += (lines.empty() ? "" : "\n") + p.text();
        problems.push_back(p.file + ":" + std::to_string(p.line) + ":" + std::to_string(p.column) +
                           ":" + (p.key.empty() ? "" : " " + p.key));
      }
      CHECK(e.code() == ExitCode::invalid_recipe);
      CHECK(e.what() == lines);
      check_sentence("recipes.bad/" + fs::path(path).stem().string(), e.what());
    }
    CHECK(problems == expected);
  }
}

TEST_CASE("a recipe that is not there is exit code 66, with the file that was meant") {
  fs::current_path(source_dir());
  const auto code_and_sentence = [](const std::string& path) {
    try {
      load_recipe(path);
    } catch (const UserError& e) { return std::pair{e.code(), std::string(e.what())}; }
    return std::pair{ExitCode::ok, std::string()};
  };
  const auto [code, sentence] = code_and_sentence("tests/recipes/good/minimla.yaml");
  CHECK(code == ExitCode::input_missing);
  CHECK(sentence.find("'tests/recipes/good/minimal.yaml'") != std::string::npos);
  check_sentence("recipe.misspelt_file", sentence);
  CHECK(code_and_sentence("tests/recipes").first == ExitCode::input_missing);
  check_sentence("recipe.folder", code_and_sentence("tests/recipes").second);
  CHECK(code_and_sentence("").first == ExitCode::input_missing);
  CHECK(code_and_sentence("no/such/folder/x.yaml").first == ExitCode::input_missing);
}

}  // namespace trainx::recipe::recipes_test
