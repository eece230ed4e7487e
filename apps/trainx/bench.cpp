#include "commands.hpp"
#include "core/error.hpp"
#include "decide_ranks.hpp"
#include "inputs.hpp"
#include "launch/run_workers.hpp"
#include "plan/adapted_dims.hpp"

namespace trainx::app {
namespace {

struct BenchArguments {
  std::string command;  // "bench step"
  RecipeArguments recipe;
  launch::BenchOptions options;
};

int run_bench(const BenchArguments& a, const Context& context) {
  if (a.options.rounds < 1 || !(a.options.seconds > 0))
    throw UserError(ExitCode::usage, "bench step: --rounds and --seconds must be above 0");
  auto loaded = load(a.recipe, a.command);
  const bool of_steps = a.command == "bench step";
  if (!of_steps && loaded.recipe.parallel.world_size.value.value_or(1) > 1)
    throw UserError(ExitCode::usage,
                    a.command + " measures one rank, and parallel.world_size is " +
                        std::to_string(*loaded.recipe.parallel.world_size.value) +
                        "; add parallel.world_size=1 and the batch that one rank has");
  // several where the recipe says so
  if (loaded.recipe.parallel.world_size.is_auto()) loaded.recipe.parallel.world_size.value = 1;
  facts::Facts facts = plan::gather_facts(loaded.recipe);
  const launch::LaunchPlan ranks = decide_ranks(loaded.recipe, facts, {});
  const Prepared p = prepare(std::move(loaded), std::move(facts));
  if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
  launch::Job job = make_job(a.command, p, context);
  job.bench = a.options;
  return launch::run_workers(job, ranks, [](const std::string&) {});
}

/// A bench of a recipe; what it takes beside is added by the caller.
CLI::App& add(CLI::App& bench, Context& context, const std::string& name, const std::string& does,
              const std::string& options, const std::string& footer,
              const std::shared_ptr<BenchArguments>& a) {
  CLI::App* command = bench.add_subcommand(name, does);
  context.usage[command] = "CONFIG [key=value ...]" + options;
  a->command = "bench " + name;
  add_recipe_arguments(*command, a->recipe);
  command->footer("Trains from new weights, saves nothing. " + footer);
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_bench(*a, context); }; });
  return *command;
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* bench = app.add_subcommand("bench", "Measure steps, memory and operations.");
  context.usage[bench] =
      "step|memory-anatomy|operations|lr CONFIG [key=value ...]\nguides [ROW ...]";
  const auto a = std::make_shared<BenchArguments>();
  CLI::App& step =
      add(*bench, context, "step",
          "Measure steps of a recipe: tokens/s, joules per token, memory, time. Prints JSON.",
          " [--rounds N] [--seconds S] [--paced]",
          "Matrix products that this machine has not tuned yet are tuned first.", a);
  step.add_option("--rounds", a->options.rounds, "Rounds; the median counts (5).")->type_name("N");
  step.add_option("--seconds", a->options.seconds, "Length of a round (3).")->type_name("S");
  step.add_flag("--paced", a->options.paced,
                "Run N steps for each line `go N` on stdin, to take turns with other programs.");
  add(*bench, context, "memory-anatomy", "Compare planned and measured memory by category.", "",
      "Measured: operands of the step's operations, allocations, and what the system counts for "
      "the process.",
      std::make_shared<BenchArguments>());
  add(*bench, context, "operations", "Measure time by kind of operation, beside FLOPs and bytes.",
      "", "FLOPs and bytes are computed; time is measured on steps that run alone.",
      std::make_shared<BenchArguments>());
  add_bench_lr(*bench, context);
  add_bench_guides(*bench, context);
}

}  // namespace trainx::app
