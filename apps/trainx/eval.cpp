#include "commands.hpp"
#include "core/error.hpp"
#include "inputs.hpp"
#include <filesystem>

namespace trainx::app {
namespace {

// The recipe says what is evaluated on; the run that it names has the weights.
recipe::LoadedRecipe recipe_of(const RecipeArguments& a, const Context& context, WeightsSource& weights) {
  if (a.config.empty() && a.words.size() == 1 && std::filesystem::is_directory(a.words.front())) {
    weights = find_weights(a.words.front(), context);
    if (!weights.recipe) throw UserError(ExitCode::usage, "eval: " + a.words.front() + " belongs to no run, so nothing says which data; give a recipe with model.init_from");
    return *weights.recipe;
  }
  auto loaded = load(a, "eval");
  weights = find_weights(run_folder_of(loaded.recipe), context);
  return loaded;
}

int run_eval(const RecipeArguments& a, const Context& context) {
  WeightsSource weights;
  auto loaded = recipe_of(a, context, weights);
  on_one_rank(loaded.recipe);
  loaded.recipe.model.init_from.reset();   // the checkpoint is what counts, also when the folder it began from is gone
  loaded.recipe.checkpoint.asynchronous = {false};   // nothing is saved
  facts::Facts facts = facts::gather_facts(loaded.recipe);
  if (loaded.recipe.memory.parameter_offload != recipe::ParameterOffload::disk) facts.offload_folder.reset();   // nothing is updated: the optimizer's disk is not used, however full it is
  facts.model_folder = facts::look_at_model_folder(weights.checkpoint);
  if (!facts.data.eval_problem.empty()) throw UserError(ExitCode::input_missing, facts.data.eval_problem);
  if (!facts.data.eval_present) throw UserError(ExitCode::input_missing, "eval: the recipe names no held-out data; set data.eval");
  const Prepared p = prepare(std::move(loaded), std::move(facts));
  launch::Job job = make_job("eval", p, context);
  job.run_folder = weights.run_folder;
  job.checkpoint = weights.checkpoint;
  return launch::run_worker(job);
}

}  // namespace

void add_eval(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("eval", "loss of a checkpoint over the whole held-out set");
  context.usage[command] = "CONFIG [key=value ...]   or   trainx eval RUN";
  const auto a = std::make_shared<RecipeArguments>();
  add_recipe_arguments(*command, *a);
  command->get_option("CONFIG")->type_name("CONFIG|RUN");
  command->footer("RUN is a run's folder (its newest valid checkpoint is taken) or one of its checkpoints: outputs/NAME/best.");
  command->callback([a, &context] { context.run = [a, &context] { return run_eval(*a, context); }; });
}

}  // namespace trainx::app
