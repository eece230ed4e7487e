#include "advice.hpp"
#include "begun_run.hpp"
#include "checkpoint/checkpoint.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/files.hpp"
#include "core/units.hpp"
#include "decide_ranks.hpp"
#include "facts/gpus.hpp"
#include "inputs.hpp"
#include "log/log.hpp"
#include "launch_options.hpp"
#include "launch/rank_environment.hpp"
#include "launch/run_workers.hpp"
#include "launch/secret.hpp"
#include "launch/visible_gpus.hpp"
#include "metrics/console.hpp"
#include "plan/adapted_dims.hpp"
#include "plan/checkpoint_size.hpp"
#include "rehearse.hpp"
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

namespace trainx::app {
namespace {

struct TrainArguments {
  RecipeArguments recipe;
  launch::LaunchFlags launch;
  std::string fork_name;
  std::int64_t profile_steps = 0;
  bool allow_degraded = false, rehearse = false, overwrite = false;
};

// A run that goes on needs nothing of the folder that it began from: its checkpoints hold the same
// model.
facts::Facts gather(recipe::Recipe recipe) {
  const auto checkpoints = checkpoint::Store(run_folder_of(recipe)).list();
  if (!recipe.model.init_from || std::filesystem::exists(*recipe.model.init_from) ||
      checkpoints.empty())
    return plan::gather_facts(recipe);
  recipe.model.init_from.reset();
  facts::Facts facts = plan::gather_facts(recipe);
  facts.model_folder = facts::look_at_model_folder(checkpoints.back().path);
  return facts;
}

std::int64_t bytes_below(const std::string& folder) {
  std::int64_t sum = 0;
  std::error_code gone;  // while another process prunes
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, gone))
    if (entry.is_regular_file(gone) && !entry.is_symlink(gone))
      sum += static_cast<std::int64_t>(entry.file_size(gone));
  return sum;
}

/// Throws UserError 74 unless the run's next checkpoint fits on the disk beside those that are
/// kept.
void require_disk(const plan::RunPlan& plan, const std::function<void(const std::string&)>& warn) {
  const std::string folder = run_folder_of(plan.recipe);
  const auto kept = checkpoint::Store(folder).list();
  // nothing is left to train
  if (!kept.empty() && plan.total_steps >= 0 && kept.back().step >= plan.total_steps) return;
  std::int64_t kept_bytes = 0, free_bytes = 0;
  for (const auto& each : kept) kept_bytes += bytes_below(each.path);
  try {
    free_bytes = free_disk_bytes(folder);
  } catch (const UserError& unknown) {
    return warn(std::string(unknown.what()) + "; whether checkpoints fit is not known");
  }
  const auto room = plan::disk_room(plan::checkpoint_size(plan), kept_bytes, free_bytes,
                                    plan.recipe.run.output_dir);
  if (!room.refusal.empty()) throw UserError(ExitCode::io_error, "train: " + room.refusal);
  if (!room.warning.empty()) warn(room.warning);
}

/// Throws UserError 69 where the run needs a GPU and no driver can show one: the worker would say
/// less.
void require_gpu(const Prepared& p) {
  if (!p.plan.on_gpu || !p.facts.hardware.gpus.empty()) return;
  const std::string why = facts::why_no_gpu();
  if (!why.empty())
    throw UserError(ExitCode::unavailable,
                    "run.device is gpu, and " + why +
                        "; install the driver, run where there is a GPU, or write run.device: cpu");
}

int start(const Prepared& p, launch::LaunchPlan ranks, const TrainArguments& a,
          const Context& context) {
  if (a.allow_degraded && !p.plan.on_gpu)
    throw UserError(ExitCode::usage,
                    "train: --allow-degraded has nothing to allow: the run computes on a CPU, "
                    "where no kernels are held against the plan; leave it out");
  if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
  if (!p.facts.data.eval_problem.empty())
    throw UserError(ExitCode::input_missing, p.facts.data.eval_problem);
  launch::Job job = make_job("train", p, context);
  job.fork_name = a.fork_name;
  job.profile_steps = a.profile_steps;
  job.allow_degraded = a.allow_degraded;
  if (a.overwrite)
    job.overwrite = utc_time() + " " + host_name() + " " + std::to_string(::getpid());
  const auto warn = [&](const std::string& text) {
    const auto& o = context.output;
    metrics::Console({o.json, o.quiet, o.verbose, o.color}).warning(text);
  };
  require_gpu(p);
  require_disk(p.plan, warn);
  if (ranks.first.rank == 0) tell_advice(p, context, warn);
  std::optional<launch::LaunchersSecret> secret;
  if (!ranks.owns_all()) {
    secret.emplace(a.launch.secret_file, environment_variable, job.run_folder, ranks.first);
    ranks.first.secret = secret->text();
  }
  return launch::run_workers(job, ranks, warn);
}

void check_overwrite(const TrainArguments& a, const recipe::Recipe& recipe) {
  if (a.fork_name == recipe.run.name)
    throw UserError(ExitCode::usage,
                    "train: --overwrite would remove the run that --fork begins from; give --fork "
                    "another name");
  const auto& resume = recipe.checkpoint.resume;
  if (!resume.is_auto() && *resume.value == recipe::Resume::must)
    throw UserError(ExitCode::invalid_recipe,
                    "train: --overwrite begins anew, and checkpoint.resume: must asks for a "
                    "checkpoint; leave one of them out");
}

// What can be refused without writing anything or starting a worker is refused here.
int run_train(const TrainArguments& a, const Context& context) {
  if (a.fork_name.find('/') != std::string::npos || a.fork_name.starts_with("."))
    throw UserError(ExitCode::usage,
                    "train: --fork takes the name of a new run, not a path: '" + a.fork_name + "'");
  if (a.profile_steps < 0)
    throw UserError(ExitCode::usage, "train: --profile takes a number of steps");
  if (a.rehearse && (!a.fork_name.empty() || a.profile_steps > 0 || a.overwrite))
    throw UserError(ExitCode::usage,
                    "train: --rehearse leaves nothing behind, so that --fork, --profile and "
                    "--overwrite have no effect: leave them out");
  if (a.rehearse) {
    const std::string starter = launch::starter_of_several(environment_variable, a.launch);
    if (!starter.empty())
      throw UserError(ExitCode::usage,
                      "train: --rehearse starts runs of its own, which " + starter +
                          " would have every rank do; rehearse on one host, without it");
    if (a.launch.nnodes.value_or(1) > 1)
      throw UserError(ExitCode::usage,
                      "train: --rehearse starts runs of its own on one host; leave out --nnodes");
    Context quiet = context;  // warnings and errors alone
    quiet.output.quiet = true;
    RecipeArguments recipe = a.recipe;
    if (a.launch.nproc_per_node.value_or(0) > 0)
      recipe.words.push_back("parallel.world_size=" + std::to_string(*a.launch.nproc_per_node));
    return rehearse(recipe, context, [&](Prepared p) {
      const auto ranks = decide_ranks(p.plan.recipe, p.facts, a.launch);
      return start(p, ranks, a, quiet);
    });
  }
  auto loaded = load(a.recipe, "train");
  if (a.overwrite)
    check_overwrite(a, loaded.recipe);
  else
    keep_what_the_run_began_with(loaded);
  facts::Facts facts = a.overwrite ? plan::gather_facts(loaded.recipe) : gather(loaded.recipe);
  log::debug("facts gathered: " + std::to_string(facts.hardware.cpu_cores) + " cores, " +
             std::to_string(facts.hardware.gpus.size()) + " GPUs");
  const auto ranks = decide_ranks(loaded.recipe, facts, a.launch);
  return start(prepare(std::move(loaded), std::move(facts)), ranks, a, context);
}

}  // namespace

void add_train(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("train", "Train a recipe, or resume it.");
  context.usage[command] =
      "CONFIG [key=value ...] [--nproc-per-node N|auto] [--max-restarts N] [--fork NAME] "
      "[--overwrite] [--profile N] [--allow-degraded] [--rehearse]";
  const auto a = std::make_shared<TrainArguments>();
  add_recipe_arguments(*command, a->recipe);
  command
      ->add_option(
          "--fork", a->fork_name,
          "Start a new run of this name from the run's newest checkpoint; its recipe may differ.")
      ->type_name("NAME");
  command
      ->add_option("--profile", a->profile_steps,
                   "Time the instructions of N steps; print what bounds them and write a trace "
                   "into the run's folder.")
      ->type_name("N");
  command->add_flag("--allow-degraded", a->allow_degraded,
                    "Warn if the GPU's kernels differ from the plan, instead of ending with 79.");
  command->add_flag("--overwrite", a->overwrite,
                    "Remove what an earlier run left in the run's folder, and begin anew.");
  command->add_flag("--rehearse", a->rehearse,
                    "Try the longest rows, an evaluation, a save, a resume and the signals in "
                    "minutes, and predict the whole run. Leaves nothing behind.");
  add_launch_options(*command, a->launch);
  add_restart_option(*command, a->launch);
  command->footer(
      "The same command again resumes from the newest checkpoint.\n"
      "SIGTERM, SIGHUP and Ctrl-C save and end (143, 129, 130; Ctrl-C twice: at once). SIGUSR1 "
      "saves and ends with 75. SIGUSR2 saves and continues.\n"
      "Under torchrun, srun or mpirun each process is one rank and starts no others.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_train(*a, context); }; });
}

}  // namespace trainx::app
