#include "advice.hpp"
#include "check_inputs.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "hardware/hardware.hpp"
#include "inputs.hpp"
#include "plan/explain/alternatives.hpp"
#include "plan/explain/describe.hpp"
#include "plan/explain/graph_text.hpp"
#include "plan/explain/schedule_table.hpp"
#include "plan_gpus.hpp"
#include "recipe/value.hpp"
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

// Of --gpu: each GPU that trainx knows.
constexpr const char* all_gpus = "all";

struct PlanArguments {
  RecipeArguments recipe;
  std::string gpu, graph, links;
  std::int64_t world = 0, hosts = 1;
  double price = 0;  // of a GPU hour, in EUR; 0: not given
  bool program = false, alternatives = false, schedule = false;
};

void require_price(const PlanArguments& a, const plan::RunPlan& plan) {
  if (a.price > 0 && !(plan.on_gpu && plan.time))
    throw UserError(ExitCode::usage,
                    "plan: --price is for each hour of a GPU, and no time is predicted for this "
                    "machine; plan for a GPU with --gpu");
}

int run_plan(const PlanArguments& a, const Context& context) {
  RecipeArguments recipe = a.recipe;
  if (a.world > 0) recipe.words.push_back("parallel.world_size=" + std::to_string(a.world));
  if (a.gpu == all_gpus) {
    if (a.program || a.alternatives || a.schedule || !a.graph.empty() || !a.links.empty())
      throw UserError(
          ExitCode::usage,
          "plan: --program, --schedule, --graph, --alternatives and --links are about one GPU; "
          "name it with --gpu");
    return plan_all_gpus(load(recipe, "plan"), a.hosts, a.price, context);
  }
  const Prepared p =
      prepare(load(recipe, "plan"), a.gpu, a.hosts, hardware::link_kind_named(a.links));
  if (!a.graph.empty()) {
    const std::string text = plan::graph_text(p.plan, a.graph);
    print(context.output.json ? nlohmann::json{{"after", a.graph}, {"graph", text}}.dump() : text);
    return 0;
  }
  require_price(a, p.plan);
  if (a.schedule && p.plan.mesh.pipeline == 1)
    throw UserError(ExitCode::usage,
                    "plan: --schedule is about the stages of parallel.pipeline, which is 1: all "
                    "ranks compute all layers; add parallel.pipeline=2 or more");
  const auto notes = check_inputs(p, MissingWeights::noted);
  const plan::PlanOptions options{.gpu = a.gpu, .links = hardware::link_kind_named(a.links)};
  const PlanAdvice advice = plan_advice(p, options);
  const plan::DraftOf draft_of = [&](const recipe::Recipe& r) {
    return plan::draft_run(r, p.facts, options);
  };
  const auto others = a.alternatives ? plan::alternatives(p.plan, 5, draft_of)
                                     : std::vector<plan::Alternative>{};
  const plan::Report report = plan::report_of(p.plan, a.program, a.price);
  if (context.output.json) {
    auto j = plan::json_of(report);
    j["advice"] = advice.entries;
    j["hints"] = advice.hints;
    j["warnings"] = advice.warnings;
    j["data_notes"] = notes;
    if (a.alternatives) j["alternatives"] = plan::to_json(others);
    if (a.schedule) j["pipeline_turns"] = plan::schedule_json(p.plan);
    print(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    std::string text = plan::text_of(report) + advice.text + plan::describe(others, p.plan);
    if (a.schedule) text += plan::schedule_table(p.plan);
    for (const std::string& hint : advice.hints) text += "hint: " + hint + "\n";
    print(text);
    for (const std::string& warning : advice.warnings) say(context, "warning: " + warning);
    for (const std::string& note : notes) say(context, "note: " + note);
  }
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "plan", "Print what would run: batch, memory by category, time, step program.");
  context.usage[command] =
      "CONFIG [key=value ...] [--program] [--schedule] [--graph AFTER] [--alternatives] "
      "[--gpu NAME|all] "
      "[--world N] [--hosts N] [--links KIND] [--price EUR]";
  const auto a = std::make_shared<PlanArguments>();
  add_recipe_arguments(*command, a->recipe);
  command->add_flag("--program", a->program, "Print every instruction of the step.");
  command->add_flag("--schedule", a->schedule,
                    "Print in which order the stages of parallel.pipeline compute.");
  command->add_flag("--alternatives", a->alternatives,
                    "Print the five best ways to run the recipe, with what each takes.");
  command
      ->add_option("--graph", a->graph,
                   "Print the model's operations after this graph pass alone: none, a pass, all.")
      ->type_name("AFTER");
  command
      ->add_option("--gpu", a->gpu,
                   "Plan for this GPU instead of this machine; all: one row for each GPU.")
      ->type_name(std::string(all_gpus) + "|" + recipe::joined(hardware::hardware_names(), "|"));
  command->add_option("--world", a->world, "Plan for N ranks.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  command->add_option("--hosts", a->hosts, "Plan for ranks of N hosts, as many on each (1).")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  command
      ->add_option("--price", a->price,
                   "Price of a GPU hour in EUR: the plan says what the run costs.")
      ->type_name("EUR")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--links", a->links,
                   "Links between GPUs of a host: nvlink also by a bridge, pcie, or host (through "
                   "its memory). Default: this machine's, or of the data sheet without a bridge.")
      ->type_name("nvlink|pcie|host")
      ->check(CLI::IsMember({"nvlink", "pcie", "host"}));
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_plan(*a, context); }; });
}

}  // namespace trainx::app
