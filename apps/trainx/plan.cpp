#include "commands.hpp"
#include "inputs.hpp"
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

struct Arguments {
  RecipeArguments recipe;
  std::string gpu;
  bool program = false;
};

int run_plan(const Arguments& a, const Context& context) {
  const Prepared p = prepare(load(a.recipe, "plan"), a.gpu);
  if (context.output.json) print(plan::to_json(p.plan, a.program).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else print(plan::describe(p.plan, a.program));
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("plan", "what would run: batch arithmetic, bytes by category, time, the step program");
  context.usage[command] = "CONFIG [key=value ...] [--program] [--gpu NAME]";
  const auto a = std::make_shared<Arguments>();
  add_recipe_arguments(*command, a->recipe);
  command->add_flag("--program", a->program, "print every instruction of the step");
  command->add_option("--gpu", a->gpu, "plan for this GPU, whose rates were measured, instead of this machine")->type_name("NAME");
  command->callback([a, &context] { context.run = [a, &context] { return run_plan(*a, context); }; });
}

}  // namespace trainx::app
