// Every key of recipes with its description, from the same visit_fields that read it.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trainx::recipe {

struct FieldHelp {
  std::string key;           // dotted
  std::string type;          // "integer", "fp32 | bf16", "size | auto"
  std::string default_text;  // as YAML; empty where a value is required
  std::string doc;
  // the `type` whose key it is ("adamw"); empty where every recipe has it
  std::string of_type;
  // that it takes: those of an enumeration, true and false, auto, null
  std::vector<std::string> words;
};

/// In schema order; the keys of each alternative after one another.
const std::vector<FieldHelp>& schema_keys();

/// `name` and one-line summary of every alternative of `what`: "optimizers", "models", "data",
/// "schedules"; empty for an unknown word.
std::vector<std::pair<std::string, std::string>> list_alternatives(const std::string& what);

/// Names that `trainx init` takes, each with what it is for.
const std::vector<std::pair<std::string, std::string>>& init_names();
/// The recipe of that name: the keys that matter set, every other one commented out with its
/// default, each with its description. `run_name` becomes run.name; empty: `name`. Throws UserError
/// (usage) for an unknown name.
std::string commented_recipe(const std::string& name, const std::string& run_name = "");
/// What the user of that recipe does before training.
struct InitSteps {
  std::string needs;                  // files that the user brings; empty if none
  std::vector<std::string> commands;  // that make the recipe's data from them, in order
};
/// Throws as commented_recipe.
const InitSteps& init_steps(const std::string& name);

}  // namespace trainx::recipe
