#include "inputs.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/suggest.hpp"
#include "launch/worker_models.hpp"
#include <filesystem>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

// A recipe that is not there: perhaps one beside it was meant.
void require_recipe(const std::string& config) {
  if (fs::exists(config)) return;
  std::vector<std::string> there;
  const fs::path folder = fs::path(config).parent_path();
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, unreadable))
    if (entry.path().extension() == ".yaml" || entry.path().extension() == ".yml") there.push_back((folder / entry.path().filename()).string());
  throw UserError(ExitCode::input_missing, "there is no recipe " + config + did_you_mean(config, there));
}

}  // namespace

void add_recipe_arguments(CLI::App& command, RecipeArguments& arguments) {
  command.add_option("CONFIG", arguments.words, "recipe (YAML), then settings that replace its own, e.g. optimizer.lr=1e-3");
  command.add_option("--config", arguments.config, "the recipe, before the settings")->type_name("CONFIG");
}

recipe::LoadedRecipe load(const RecipeArguments& arguments, const std::string& command) {
  std::string config = arguments.config;
  recipe::LoadOptions options;
  for (const std::string& word : arguments.words) {
    if (word.find('=') != std::string::npos && !fs::exists(word)) options.overrides.push_back(word);
    else if (config.empty()) config = word;
    else throw UserError(ExitCode::usage, command + ": '" + word + "' is no setting; settings are key=value, e.g. optimizer.lr=1e-3");
  }
  if (config.empty()) throw UserError(ExitCode::usage, command + ": which recipe? trainx " + command + " CONFIG [key=value ...]; trainx init quickstart writes one");
  if (fs::is_directory(config)) throw UserError(ExitCode::usage, command + ": " + config + " is a folder, and a recipe is a YAML file; a run's is " + config + "/recipe.yaml");
  require_recipe(config);
  options.environment_set = environment_variable("TRAINX_SET");
  return recipe::load_recipe(config, options);
}

Prepared prepare(recipe::LoadedRecipe loaded, facts::Facts facts, const std::string& gpu) {
  launch::measure_model(loaded.recipe, facts);
  Prepared p{std::move(loaded), std::move(facts), {}, {}};
  p.plan = plan::make_run_plan(p.loaded.recipe, p.facts, {.gpu = gpu, .rank = 0});
  p.origins = p.loaded.origins;
  const auto before = recipe::flatten(p.loaded.recipe), after = recipe::flatten(p.plan.recipe);
  const std::map<std::string, std::string> written(before.begin(), before.end());
  for (const auto& [key, value] : after) {
    const auto found = written.find(key);
    if (found == written.end() || found->second != value) p.origins[key] = "planned";
  }
  return p;
}

Prepared prepare(recipe::LoadedRecipe loaded, const std::string& gpu) {
  facts::Facts facts = facts::gather_facts(loaded.recipe);
  facts.hardware.local_ranks = loaded.recipe.parallel.world_size.value.value_or(1);   // all of them here, where nothing says otherwise
  return prepare(std::move(loaded), std::move(facts), gpu);
}

void on_one_rank(recipe::Recipe& recipe) {
  const std::int64_t ranks = recipe.parallel.world_size.value.value_or(1);
  recipe.parallel = {};
  recipe.precision.reduce = recipe::Reduce::fp32;
  if (ranks == 1) return;
  recipe.optimizer.update_in_backward = false;
  if (recipe.batch.global_batch_size && !recipe.batch.micro_batch_size.is_auto()) recipe.batch.grad_accum_steps.reset();
  else if (recipe.batch.grad_accum_steps) *recipe.batch.grad_accum_steps *= ranks;
}

std::string run_folder_of(const recipe::Recipe& recipe) { return (fs::path(recipe.run.output_dir) / recipe.run.name).string(); }

launch::Job make_job(const std::string& command, const Context& context) {
  launch::Job job;
  job.command = command;
  job.argv = context.argv;
  job.output = context.output;
  return job;
}

launch::Job make_job(const std::string& command, const Prepared& prepared, const Context& context) {
  launch::Job job = make_job(command, context);
  job.resolved_recipe = recipe::dump(prepared.plan.recipe);
  job.recipe_source = prepared.loaded.source;
  job.origins = prepared.origins;
  job.facts = prepared.facts;
  job.plan_fingerprint = plan::fingerprint(prepared.plan);
  job.run_folder = run_folder_of(prepared.plan.recipe);
  return job;
}

}  // namespace trainx::app
