#include "inputs.hpp"
#include "build_info.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/hub_cache.hpp"
#include "core/process.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "decide_ranks.hpp"
#include "launch/worker_models.hpp"
#include "launch/worker_optimizer.hpp"
#include "log/log.hpp"
#include "plan/adapted_dims.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

/// What cannot be looked at (a name may be too long) is said where it is read.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A recipe that is not there: perhaps one beside it was meant.
void require_recipe(const std::string& config) {
  if (is_there(config)) return;
  std::vector<std::string> there;
  const fs::path folder = fs::path(config).parent_path();
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, unreadable))
    if (entry.path().extension() == ".yaml" || entry.path().extension() == ".yml")
      there.push_back((folder / entry.path().filename()).string());
  throw UserError(ExitCode::input_missing,
                  "there is no recipe " + config + did_you_mean(config, there));
}

// An id of the Hugging Face hub becomes the folder in its local cache. One that is not there stays
// as it is: a run that goes on does without it.
void find_init_from(recipe::LoadedRecipe& loaded) {
  auto& from = loaded.recipe.model.init_from;
  if (!from || is_there(*from)) return;
  const auto snapshot = find_in_hub_cache(*from);
  if (!snapshot) return;
  from = snapshot->folder;
  loaded.origins["model.init_from"] += " (" + describe(*snapshot) + ")";
}

// What the folder's config.json is of.
std::optional<recipe::NamedType> type_of_folder(const std::string& init_from) {
  const auto snapshot = is_there(init_from) ? std::nullopt : find_in_hub_cache(init_from);
  const std::string folder = snapshot ? snapshot->folder : init_from,
                    config = model_folder_of(folder) + "/config.json";
  if (!is_there(config)) return std::nullopt;
  const architectures::ModelDims dims = architectures::read_config(folder);
  const std::string type(architectures::architecture_name(dims));
  const std::vector<std::string> names = recipe::alternative_names(recipe::ModelSection{}.options);
  if (std::ranges::find(names, type) == names.end()) return std::nullopt;
  return recipe::NamedType{type, config};
}

// Of a dropout that the recipe leaves to the folder.
std::string origin_of_dropout(const Prepared& p) {
  const bool followed = p.loaded.recipe.model.init_from && p.facts.model_folder &&
                        !std::holds_alternative<architectures::CustomDims>(p.plan.dims);
  return followed ? "config.json of " + p.facts.model_folder->path : "default";
}

/// `trainx show optimizer.type=lion` asks what lion has, which needs no recipe.
std::string hint_of(const std::vector<std::string>& settings) {
  for (const auto& [key, list] : {std::pair{"optimizer.", "optimizers"},
                                  {"model.", "models"},
                                  {"data.", "data"},
                                  {"schedule.", "schedules"}})
    for (const std::string& setting : settings)
      if (setting.starts_with(key))
        return "; trainx list " + std::string(list) +
               " shows all choices with their options and defaults";
  return "";
}

}  // namespace

void add_recipe_arguments(CLI::App& command, RecipeArguments& arguments) {
  command.add_option("CONFIG", arguments.words,
                     "Recipe (YAML), then settings that replace its own, e.g. optimizer.lr=1e-3.");
  command.add_option("--config", arguments.config, "Recipe, as an option.")->type_name("CONFIG");
}

bool is_setting(const std::string& word) {
  return word.find('=') != std::string::npos && !is_there(word);
}

recipe::LoadedRecipe load(const RecipeArguments& arguments, const std::string& command) {
  std::string config = arguments.config;
  recipe::LoadOptions options;
  for (const std::string& word : arguments.words) {
    if (is_setting(word))
      options.overrides.push_back(word);
    else if (config.empty())
      config = word;
    else
      throw UserError(ExitCode::usage,
                      command + ": '" + word +
                          "' is no setting; settings are key=value, e.g. optimizer.lr=1e-3");
  }
  if (config.empty())
    throw UserError(ExitCode::usage, command +
                                         ": no recipe given; write one: trainx init quickstart" +
                                         hint_of(arguments.words));
  if (fs::is_directory(config))
    throw UserError(ExitCode::usage, command + ": " + config +
                                         " is a folder, and a recipe is a YAML file; a run's is " +
                                         config + "/recipe.yaml");
  require_recipe(config);
  options.environment_set = environment_variable("TRAINX_SET");
  options.model_type = type_of_folder;
  auto loaded = recipe::load_recipe(config, options);
  find_init_from(loaded);
  log::debug("recipe read: " + config +
             (options.overrides.empty() ? ""
                                        : ", " + std::to_string(options.overrides.size()) +
                                              " settings on the command line"));
  return loaded;
}

Prepared prepare(recipe::LoadedRecipe loaded, facts::Facts facts, const std::string& gpu,
                 std::optional<hardware::LinkKind> links) {
  launch::measure_model(loaded.recipe, facts);
  launch::measure_optimizer(loaded.recipe, facts);
  Prepared p{std::move(loaded), std::move(facts), {}, {}};
  p.plan = plan::make_run_plan(p.loaded.recipe, p.facts, {.gpu = gpu, .links = links});
  log::debug("plan made: " + std::to_string(p.plan.role().train.size()) + " step programs, " +
             std::to_string(p.plan.role().train.back().program.steady.size()) +
             " instructions a step, " + human_bytes(p.plan.memory.total_bytes()) + " planned, " +
             std::to_string(p.plan.threads) + " threads");
  p.origins = p.loaded.origins;
  const auto before = recipe::flatten(p.loaded.recipe), after = recipe::flatten(p.plan.recipe);
  const std::map<std::string, std::string> written(before.begin(), before.end());
  for (const auto& [key, value] : after) {
    const auto found = written.find(key);
    if (found != written.end() && found->second == value) continue;
    const bool is_dropout = key == "model.options.dropout" ||
                            key == "model.options.attention_dropout";
    p.origins[key] = is_dropout ? origin_of_dropout(p) : "planned";
  }
  return p;
}

Prepared prepare(recipe::LoadedRecipe loaded, const std::string& gpu, std::int64_t hosts,
                 std::optional<hardware::LinkKind> links) {
  facts::Facts facts = plan::gather_facts(loaded.recipe);
  const bool counted = loaded.recipe.parallel.world_size.is_auto() && gpu.empty() && hosts == 1;
  if (counted) {  // as `train` does on this machine
    decide_ranks(loaded.recipe, facts, {});
    Prepared p = prepare(std::move(loaded), std::move(facts), gpu, links);
    p.origins["parallel.world_size"] = "planned";
    return p;
  }
  // all of them here, where nothing says otherwise
  const std::int64_t ranks = loaded.recipe.parallel.world_size.value.value_or(1);
  if (ranks % hosts != 0)
    throw UserError(ExitCode::usage, "--hosts " + std::to_string(hosts) +
                                         " must divide the number of ranks, which is " +
                                         std::to_string(ranks) + "; --world says another");
  facts.hardware.local_ranks = ranks / hosts;
  return prepare(std::move(loaded), std::move(facts), gpu, links);
}

void on_one_rank(recipe::Recipe& recipe) {
  const std::int64_t ranks = recipe.parallel.world_size.value.value_or(1);
  const std::optional<std::int64_t> sharing = recipe.parallel.batch_ranks();
  const std::int64_t batches = std::max<std::int64_t>(1, ranks / sharing.value_or(1));
  recipe.parallel = {};
  recipe.precision.reduce = recipe::Reduce::fp32;
  if (ranks == 1) return;
  recipe.optimizer.update_in_backward = false;
  if (!sharing)  // how a rank cuts the batch follows from a choice of several ranks
    recipe.batch = {.global_batch_size = recipe.batch.global_batch_size};
  else if (recipe.batch.global_batch_size && !recipe.batch.micro_batch_size.is_auto())
    recipe.batch.grad_accum_steps.reset();
  else if (recipe.batch.grad_accum_steps)
    *recipe.batch.grad_accum_steps *= batches;
}

std::string run_folder_of(const recipe::Recipe& recipe) {
  return (fs::path(recipe.run.output_dir) / recipe.run.name).string();
}

launch::Job make_job(const std::string& command, const Context& context) {
  launch::Job job;
  job.command = command;
  job.argv = context.argv;
  job.output = context.output;
  std::error_code gone;  // a working folder that was removed has no name
  job.directory = fs::current_path(gone).string();
  job.build = build_info();
  for (const log::Line& line : log::kept_lines())
    job.log.emplace_back(log::name_of(line.level), line.text);
  return job;
}

launch::Job make_job(const std::string& command, const Prepared& prepared, const Context& context) {
  launch::Job job = make_job(command, context);
  job.resolved_recipe = recipe::dump(prepared.plan.recipe);
  job.recipe_source = prepared.loaded.source;
  job.origins = prepared.origins;
  job.facts = prepared.facts;
  job.plan_fingerprint = plan::fingerprint(prepared.plan);
  job.choices = prepared.plan.choices;
  job.run_folder = run_folder_of(prepared.plan.recipe);
  return job;
}

}  // namespace trainx::app
