#include "checkpoint/checkpoint.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "decide_ranks.hpp"
#include "inputs.hpp"
#include "launch_options.hpp"
#include "launch/rank_environment.hpp"
#include "launch/run_workers.hpp"
#include "launch/visible_gpus.hpp"
#include "metrics/console.hpp"
#include "rehearse.hpp"
#include <cstdlib>
#include <filesystem>

namespace trainx::app {
namespace {

struct Arguments {
  RecipeArguments recipe;
  launch::LaunchFlags launch;
  std::string fork_name;
  std::int64_t profile_steps = 0;
  bool allow_degraded = false, rehearse = false;
};

// A run that goes on needs nothing of the folder that it began from: its checkpoints hold the same model.
facts::Facts gather(recipe::Recipe recipe) {
  const auto checkpoints = checkpoint::Store(run_folder_of(recipe)).list();
  if (!recipe.model.init_from || std::filesystem::exists(*recipe.model.init_from) || checkpoints.empty()) return facts::gather_facts(recipe);
  recipe.model.init_from.reset();
  facts::Facts facts = facts::gather_facts(recipe);
  facts.model_folder = facts::look_at_model_folder(checkpoints.back().path);
  return facts;
}

int start(const Prepared& p, const launch::LaunchPlan& ranks, const Arguments& a, const Context& context) {
  if (a.allow_degraded && !p.plan.on_gpu) throw UserError(ExitCode::usage, "train: --allow-degraded has nothing to allow: the run computes on a CPU, where no kernels are held against the plan; leave it out");
  if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
  if (!p.facts.data.eval_problem.empty()) throw UserError(ExitCode::input_missing, p.facts.data.eval_problem);
  launch::Job job = make_job("train", p, context);
  job.fork_name = a.fork_name;
  job.profile_steps = a.profile_steps;
  job.allow_degraded = a.allow_degraded;
  const auto warn = [&](const std::string& text) {
    const auto& o = context.output;
    metrics::Console({o.json, o.quiet, o.verbose, o.color}).warning(text);
  };
  return launch::run_workers(job, ranks, warn);
}

// What can be refused without writing anything or starting a worker is refused here.
int run_train(const Arguments& a, const Context& context) {
  if (a.fork_name.find('/') != std::string::npos || a.fork_name.starts_with(".")) throw UserError(ExitCode::usage, "train: --fork takes the name of a new run, not a path: '" + a.fork_name + "'");
  if (a.profile_steps < 0) throw UserError(ExitCode::usage, "train: --profile takes a number of steps");
  if (a.rehearse && (!a.fork_name.empty() || a.profile_steps > 0)) throw UserError(ExitCode::usage, "train: --rehearse leaves nothing behind, so that --fork and --profile have no effect: leave them out");
  if (a.rehearse) {
    const auto given = launch::membership_from_environment(environment_variable, a.launch);
    if (given && given->world_size > 1) throw UserError(ExitCode::usage, "train: --rehearse starts runs of its own, which " + given->launcher + " would have every rank do; rehearse on one host, without it");
    if (a.launch.nnodes.value_or(1) > 1) throw UserError(ExitCode::usage, "train: --rehearse starts runs of its own on one host; leave out --nnodes");
    Context quiet = context;            // warnings and errors alone
    quiet.output.quiet = true;
    RecipeArguments recipe = a.recipe;
    if (a.launch.nproc_per_node.value_or(0) > 0) recipe.words.push_back("parallel.world_size=" + std::to_string(*a.launch.nproc_per_node));
    return rehearse(recipe, context, [&](Prepared p) {
      const auto ranks = decide_ranks(p.plan.recipe, p.facts, a.launch);
      return start(p, ranks, a, quiet);
    });
  }
  auto loaded = load(a.recipe, "train");
  facts::Facts facts = gather(loaded.recipe);
  const auto ranks = decide_ranks(loaded.recipe, facts, a.launch);
  return start(prepare(std::move(loaded), std::move(facts)), ranks, a, context);
}

}  // namespace

void add_train(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("train", "trains, or goes on training, what a recipe says");
  context.usage[command] = "CONFIG [key=value ...] [--nproc-per-node N|auto] [--max-restarts N] [--fork NAME] [--profile N] [--allow-degraded] [--rehearse]";
  const auto a = std::make_shared<Arguments>();
  add_recipe_arguments(*command, a->recipe);
  command->add_option("--fork", a->fork_name, "begin a new run of this name from the run's newest checkpoint, with a recipe that differs")->type_name("NAME");
  command->add_option("--profile", a->profile_steps, "times the instructions of N steps: what a step spends its time on, and a trace in the run's folder")->type_name("N");
  command->add_flag("--allow-degraded", a->allow_degraded, "goes on with a warning where what runs on the GPU is not what was planned, instead of ending with 79");
  command->add_flag("--rehearse", a->rehearse, "a few steps with the longest rows, evaluation, save, resume and signals first, in minutes, and says what the whole run will take");
  add_launch_options(*command, a->launch);
  command->footer("The same command again goes on from the newest checkpoint. SIGTERM and Ctrl-C save and end (143, 130; Ctrl-C twice: at once),\n"
                  "SIGUSR1 saves and ends with 75, SIGUSR2 saves and goes on.\n"
                  "Under torchrun, srun or mpirun each process is one rank, and starts no others.");
  command->callback([a, &context] { context.run = [a, &context] { return run_train(*a, context); }; });
}

}  // namespace trainx::app
