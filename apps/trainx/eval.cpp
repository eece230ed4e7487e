#include "commands.hpp"
#include "core/error.hpp"
#include "inputs.hpp"
#include "plan/adapted_dims.hpp"
#include "run_paths.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::app {
namespace {

// Of a run: what may be asked about its checkpoint otherwise than in training.
const std::vector<std::string> run_settings{"data.eval", "batch.micro_batch_size", "eval.batches",
                                            "eval.precision", "eval.weights"};
// Of a recipe: sections and keys that only training follows.
const std::vector<std::string> only_training{
    "optimizer.", "schedule.",  "checkpoint.", "metrics.",     "parallel.",
    "generate.",  "eval.every", "eval.best",   "run.duration", "run.seed"};

std::string key_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

void check_settings(const std::vector<std::string>& settings, bool of_run) {
  for (const std::string& setting : settings) {
    const std::string key = key_of(setting);
    const bool trains = std::ranges::any_of(
        only_training, [&](const std::string& start) { return key.starts_with(start); });
    if (of_run ? std::ranges::find(run_settings, key) == run_settings.end() : trains)
      throw UserError(ExitCode::usage, "eval: " + key + " has no effect on an evaluation" +
                                           (of_run ? " of this run" : "") + "; leave it out" +
                                           (of_run ? " (data.eval, batch.micro_batch_size, "
                                                     "eval.batches, eval.precision and "
                                                     "eval.weights have one)"
                                                   : ""));
  }
}

struct EvalInput {
  recipe::LoadedRecipe loaded;
  WeightsSource weights;
  std::vector<std::string> tried;  // paths of data that is not there
};

// The recipe says what is evaluated on; the run that it names has the weights.
EvalInput input_of(const RecipeArguments& a, const Context& context) {
  EvalInput in;
  std::vector<std::string> settings, others;
  for (const std::string& word : a.words) (is_setting(word) ? settings : others).push_back(word);
  const bool of_run = a.config.empty() && others.size() == 1 &&
                      std::filesystem::is_directory(others.front());
  check_settings(settings, of_run);
  if (!of_run) {
    in.loaded = load(a, "eval");
    in.weights = find_weights(run_folder_of(in.loaded.recipe), context);
    return in;
  }
  in.weights = find_weights(others.front(), context);
  if (!in.weights.recipe)
    throw UserError(
        ExitCode::usage,
        "eval: " + others.front() +
            " belongs to no run, so nothing says which data; give a recipe with model.init_from");
  recipe::LoadOptions options;
  options.overrides = settings;
  const auto is_micro_batch = [](const std::string& s) {
    return key_of(s) == "batch.micro_batch_size";
  };
  if (std::ranges::any_of(settings, is_micro_batch))
    options.overrides.push_back("batch.grad_accum_steps=null");  // it follows
  in.loaded = recipe::load_recipe(in.weights.run_folder + "/resolved.yaml", options);
  std::vector<std::string> given;
  for (const std::string& setting : settings) given.push_back(key_of(setting));
  in.tried = find_data(in.loaded.recipe, in.weights.run_folder, given);
  return in;
}

/// Nothing is trained: weights that are computed in 16 bits are loaded as these alone. An average
/// of the weights is an optimizer state, in fp32; an optimizer on the host says where weights are.
void keep_16_bits_alone(recipe::Recipe& recipe) {
  const recipe::Compute trained = recipe.precision.compute;
  recipe::Compute compute = trained;
  if (const auto& evaluated = recipe.eval.precision.value)
    compute = *evaluated == recipe::EvalPrecision::bf16 ? recipe::Compute::bf16
                                                        : recipe::Compute::fp16;
  const bool in_16_bits = compute == recipe::Compute::bf16 || compute == recipe::Compute::fp16;
  if (!in_16_bits || recipe.eval.weights == recipe::EvalWeights::average ||
      recipe.memory.optimizer_offload.where != recipe::OptimizerOffload::none)
    return;
  if (compute != trained) recipe.precision = {};  // its other keys may need the type of training
  recipe.precision.compute = compute;
  recipe.precision.master.value = recipe::MasterWeights::none;
  recipe.eval.precision = {};
  recipe.optimizer = {};  // what it needs of weights does not matter
  recipe.optimizer.options = options::SgdOptions{};
}

int run_eval(const RecipeArguments& a, const Context& context) {
  auto [loaded, weights, tried] = input_of(a, context);
  const bool some_batches =
      loaded.origins["eval.batches"] ==
      "command line";  // those of the recipe are for evaluations while training
  on_one_rank(loaded.recipe);
  loaded.recipe.model.init_from
      .reset();  // the checkpoint is what counts, also when the folder it began from is gone
  loaded.recipe.checkpoint.asynchronous = {false};  // nothing is saved
  if (loaded.recipe.model.adapter.type != options::AdapterType::none &&
      loaded.recipe.eval.weights == recipe::EvalWeights::average)
    throw UserError(ExitCode::usage,
                    "eval: the moving average of an adapter is measured while it is trained alone; "
                    "write eval.weights=current");
  loaded.recipe.model.adapter = {};  // it is added to the model's weights as they are read
  facts::Facts facts = plan::gather_facts(loaded.recipe);
  if (loaded.recipe.memory.parameter_offload != recipe::ParameterOffload::disk)
    facts.offload_folder
        .reset();  // nothing is updated: the optimizer's disk is not used, however full it is
  facts.model_folder = plan::look_at_merged_folder(weights.checkpoint);
  if (!facts.data.eval_problem.empty())
    throw UserError(
        ExitCode::input_missing,
        facts.data.eval_problem + (tried.empty() ? ""
                                                 : "; " + tried.back() +
                                                       ", by the folder where the run was started, "
                                                       "is not there either: set data.eval"));
  if (!facts.data.eval_present)
    throw UserError(ExitCode::input_missing,
                    "eval: the recipe names no held-out data; set data.eval or data.held_out");
  keep_16_bits_alone(loaded.recipe);
  const Prepared p = prepare(std::move(loaded), std::move(facts));
  launch::Job job = make_job("eval", p, context);
  job.run_folder = weights.run_folder;
  job.checkpoint = weights.checkpoint;
  job.eval_batches = some_batches;
  return launch::run_worker(job);
}

}  // namespace

void add_eval(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("eval", "Measure a checkpoint on the whole held-out set.");
  context.usage[command] = "CONFIG|RUN [key=value ...]";
  const auto a = std::make_shared<RecipeArguments>();
  add_recipe_arguments(*command, *a);
  command->get_option("CONFIG")->type_name("CONFIG|RUN");
  command->footer(
      "RUN is a run's folder (its newest valid checkpoint) or one of its checkpoints, e.g. "
      "outputs/NAME/best.\n"
      "The whole held-out set counts, or with eval.batches=N so many global batches.\n"
      "Settings of a RUN: data.eval, batch.micro_batch_size, eval.batches, eval.precision, "
      "eval.weights.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_eval(*a, context); }; });
}

}  // namespace trainx::app
