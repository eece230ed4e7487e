// Reads recipes: one YAML document, strict, every problem at once; and writes them back.
#pragma once
#include "core/error.hpp"
#include "core/problem.hpp"
#include "recipe/sections.hpp"
#include <functional>
#include <map>

namespace trainx::recipe {

/// Where each value came from, by dotted key: "configs/base.yaml:3:8", "command line",
/// "TRAINX_SET", "default".
using Origins = std::map<std::string, std::string>;

struct LoadedRecipe {
  Recipe recipe;
  Origins origins;
  // the text of the recipe's own file, copied into the run's folder
  std::string source;
};

/// A model.type, and the file that says it.
struct NamedType {
  std::string type, source;
};

struct LoadOptions {
  std::vector<std::string> overrides;  // key=value, the command line's
  std::string environment_set;         // TRAINX_SET: key=value separated by spaces or newlines
  // for ${env:NAME}; empty: the process's
  std::function<std::optional<std::string>(const std::string&)> environment;
  // model.type of a recipe that leaves it out, by its model.init_from; empty: the default
  std::function<std::optional<NamedType>(const std::string&)> model_type;
  // false: weights are used as they are, so that rules about updates do not hold
  bool trains = true;
};

/// All problems of a recipe; what() has one line each: `file:line:col: key: problem (did you mean
/// 'x'?)`. Exit code 78.
class RecipeError : public UserError {
 public:
  explicit RecipeError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// Reads `path` with its `extends`, interpolations and overrides (command line > TRAINX_SET >
/// recipe > extends > default), and checks every value and every rule between values that needs no
/// facts. Throws RecipeError.
LoadedRecipe load_recipe(const std::string& path, const LoadOptions& options = {});
/// The same from text, e.g. a run's resolved.yaml; `name` stands in messages.
LoadedRecipe parse_recipe(const std::string& text, const std::string& name,
                          const LoadOptions& options = {});

/// The whole recipe as YAML, every key in schema order, byte-stable: dump(parse(dump(r))) ==
/// dump(r). With `origins` each value carries a comment that says where it came from (what `trainx
/// show` prints).
std::string dump(const Recipe& recipe, const Origins* origins = nullptr);

/// Every dotted key with its value as text, in schema order: the start-up table and the comparison
/// of recipes.
std::vector<std::pair<std::string, std::string>> flatten(const Recipe& recipe);

}  // namespace trainx::recipe
