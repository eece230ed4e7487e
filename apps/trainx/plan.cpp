#include "check_inputs.hpp"
#include "commands.hpp"
#include "inputs.hpp"
#include "plan/explain/advice.hpp"
#include "plan/explain/expert_cost.hpp"
#include "plan/explain/needless.hpp"
#include "hardware/hardware.hpp"
#include "recipe/value.hpp"
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

struct PlanArguments {
  RecipeArguments recipe;
  std::string gpu;
  std::int64_t world = 0, hosts = 1;
  bool program = false;
};

int run_plan(const PlanArguments& a, const Context& context) {
  RecipeArguments recipe = a.recipe;
  if (a.world > 0) recipe.words.push_back("parallel.world_size=" + std::to_string(a.world));
  const Prepared p = prepare(load(recipe, "plan"), a.gpu, a.hosts);
  const auto notes = check_inputs(p, MissingWeights::noted);
  const auto advice = plan::advise(p.plan);
  const auto needless = plan::needless_levers(p.plan);
  const auto experts = plan::expert_advice(p.plan);
  const std::string hint = plan::batch_hint(p.plan);
  if (context.output.json) {
    auto j = plan::to_json(p.plan, a.program);
    j["advice"] = plan::to_json(advice);
    for (auto& lever : plan::to_json(needless)) j["advice"].push_back(std::move(lever));
    for (auto& fewer : plan::to_json(experts)) j["advice"].push_back(std::move(fewer));
    j["hints"] = hint.empty() ? nlohmann::json::array() : nlohmann::json::array({hint});
    j["data_notes"] = notes;
    print(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print(plan::describe(p.plan, a.program) + plan::describe(advice, p.plan) +
          plan::describe(needless, p.plan) + plan::describe(experts) +
          (hint.empty() ? "" : "hint: " + hint + "\n"));
    for (const std::string& note : notes) say(context, "note: " + note);
  }
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "plan", "Print what would run: batch, memory by category, time, step program.");
  context.usage[command] =
      "CONFIG [key=value ...] [--program] [--gpu NAME] [--world N] [--hosts N]";
  const auto a = std::make_shared<PlanArguments>();
  add_recipe_arguments(*command, a->recipe);
  command->add_flag("--program", a->program, "Print every instruction of the step.");
  command->add_option("--gpu", a->gpu, "Plan for this GPU instead of this machine.")
      ->type_name(recipe::joined(hardware::hardware_names(), "|"));
  command->add_option("--world", a->world, "Plan for N ranks.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  command->add_option("--hosts", a->hosts, "Plan for ranks of N hosts, as many on each (1).")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_plan(*a, context); }; });
}

}  // namespace trainx::app
