#include "commands.hpp"
#include "core/error.hpp"
#include "inputs.hpp"

namespace trainx::app {
namespace {

struct Arguments {
  RecipeArguments recipe;
  launch::BenchOptions options;
};

int run_step(const Arguments& a, const Context& context) {
  if (a.options.rounds < 1 || !(a.options.seconds > 0)) throw UserError(ExitCode::usage, "bench step: --rounds and --seconds must be above 0");
  const Prepared p = prepare(load(a.recipe, "bench step"));
  if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
  launch::Job job = make_job("bench step", context);
  job.resolved_recipe = recipe::dump(p.plan.recipe);
  job.facts = p.facts;
  job.plan_fingerprint = plan::fingerprint(p.plan);
  job.bench = a.options;
  return launch::run_worker(job);
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* bench = app.add_subcommand("bench", "measures this machine");
  context.usage[bench] = "step CONFIG [key=value ...]";
  CLI::App* step = bench->add_subcommand("step", "steps of a recipe: tokens/s, joules per token, memory and time, predicted and measured; JSON");
  context.usage[step] = "CONFIG [key=value ...] [--rounds N] [--seconds S] [--paced]";
  const auto a = std::make_shared<Arguments>();
  add_recipe_arguments(*step, a->recipe);
  step->add_option("--rounds", a->options.rounds, "how often it is measured; the median counts (5)")->type_name("N");
  step->add_option("--seconds", a->options.seconds, "of a round (3)")->type_name("S");
  step->add_flag("--paced", a->options.paced, "runs N steps for each line `go N` on stdin, until its end: to take turns with others");
  step->footer("Trains from new weights, saves nothing. Matrix products are tuned first where this machine has not met them yet.");
  step->callback([a, &context] { context.run = [a, &context] { return run_step(*a, context); }; });
}

}  // namespace trainx::app
