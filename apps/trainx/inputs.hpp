// What commands take: CONFIG with key=value settings, or a RUN's folder.
#pragma once
#include "context.hpp"
#include "plan/run_plan.hpp"
#include <CLI/CLI.hpp>

namespace trainx::app {

/// CONFIG [key=value ...] as the command line holds it; --config CONFIG is the same.
struct RecipeArguments {
  std::vector<std::string> words;
  std::string config;
};
void add_recipe_arguments(CLI::App& command, RecipeArguments& arguments);
/// key=value, and no file of this name.
bool is_setting(const std::string& word);
/// Reads the recipe with its settings, those of TRAINX_SET below them. Throws UserError 2 where
/// CONFIG is missing or a word is no key=value.
recipe::LoadedRecipe load(const RecipeArguments& arguments, const std::string& command);

/// A recipe with all that is decided about it.
struct Prepared {
  recipe::LoadedRecipe loaded;
  facts::Facts facts;
  plan::RunPlan plan;
  recipe::Origins origins;  // loaded.origins; "planned" for what the plan filled in
};
Prepared prepare(recipe::LoadedRecipe loaded, facts::Facts facts, const std::string& gpu = "",
                 std::optional<hardware::LinkKind> links = {});
/// `hosts`: that the ranks are on; throws UserError 2 if they do not divide the ranks.
Prepared prepare(recipe::LoadedRecipe loaded, const std::string& gpu = "", std::int64_t hosts = 1,
                 std::optional<hardware::LinkKind> links = {});

/// For what one process does with a run of several: nothing of it hangs on the number of ranks.
void on_one_rank(recipe::Recipe& recipe);

std::string run_folder_of(const recipe::Recipe& recipe);
/// A job with what every command's has.
launch::Job make_job(const std::string& command, const Context& context);
/// For the worker of a recipe's run: what was decided, and the run's folder.
launch::Job make_job(const std::string& command, const Prepared& prepared, const Context& context);

/// Where weights come from: a run, one of its checkpoints, or a Hugging Face folder, which has no
/// recipe.
struct WeightsSource {
  std::string run_folder;  // of the run; the folder itself where it is no run's
  std::string checkpoint;  // the folder that holds config.json and model.safetensors
  std::optional<recipe::LoadedRecipe> recipe;  // the run's resolved one
};
/// RUN, RUN/checkpoint-N, RUN/best, or a Hugging Face folder. A run's newest checkpoint that
/// verifies is taken; damaged ones are named in a warning. Throws UserError: 66 there is nothing to
/// read, 83 no checkpoint verifies.
WeightsSource find_weights(const std::string& folder, const Context& context);

}  // namespace trainx::app
