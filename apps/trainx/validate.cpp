#include "advice.hpp"
#include "check_inputs.hpp"
#include "commands.hpp"
#include "inputs.hpp"
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

int run_validate(const RecipeArguments& a, const Context& context) {
  const Prepared p = prepare(load(a, "validate"));
  std::vector<std::string> notes = p.plan.notes;
  for (std::string& note : check_inputs(p, MissingWeights::refused))
    notes.push_back(std::move(note));
  if (!p.facts.data.eval_problem.empty())
    notes.push_back("held-out data is not there yet: " + p.facts.data.eval_problem);
  auto remarks = remarks_of(p);
  for (std::string& hint : remarks.hints) notes.push_back(std::move(hint));
  if (context.output.json)
    print(nlohmann::json{{"valid", true}, {"notes", notes}, {"warnings", remarks.warnings}}.dump());
  else
    print("valid: run " + p.plan.recipe.run.name + ", into " + run_folder_of(p.plan.recipe));
  for (const std::string& warning : remarks.warnings) say(context, "warning: " + warning);
  for (const std::string& note : notes) say(context, "note: " + note);
  return 0;
}

}  // namespace

void add_validate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("validate", "Check a recipe without running anything.");
  context.usage[command] = "CONFIG [key=value ...]";
  const auto a = std::make_shared<RecipeArguments>();
  add_recipe_arguments(*command, *a);
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_validate(*a, context); }; });
}

}  // namespace trainx::app
