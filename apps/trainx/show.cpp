#include "commands.hpp"
#include "inputs.hpp"
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

int run_show(const RecipeArguments& a, const Context& context) {
  const Prepared p = prepare(load(a, "show"));
  if (!context.output.json) {
    print(recipe::dump(p.plan.recipe, &p.origins));
    return 0;
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [key, value] : recipe::flatten(p.plan.recipe)) {
    const auto origin = p.origins.find(key);
    out[key] = {{"value", value},
                {"origin", origin == p.origins.end() ? "default" : origin->second}};
  }
  print(out.dump());
  return 0;
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("show", "Print the resolved recipe, each value with its origin.");
  context.usage[command] = "CONFIG [key=value ...]";
  const auto a = std::make_shared<RecipeArguments>();
  add_recipe_arguments(*command, *a);
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_show(*a, context); }; });
}

}  // namespace trainx::app
