#include "commands.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "recipe/schema.hpp"
#include "table.hpp"
#include <CLI/CLI.hpp>

namespace trainx::app {
namespace {

int run_list(const std::string& what, const Context& context) {
  static const std::vector<std::string> known{"optimizers", "models", "data", "schedules"};
  const auto rows = recipe::list_alternatives(what);
  if (rows.empty()) throw UserError(ExitCode::usage, "list: there are optimizers, models, data and schedules, not '" + what + "'" + did_you_mean(what, known));
  print(two_columns(rows, context.output.json));
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("list", "what there is to choose: optimizers, models, data, schedules");
  context.usage[command] = "optimizers|models|data|schedules";
  const auto what = std::make_shared<std::string>();
  command->add_option("WHAT", *what, "optimizers, models, data or schedules")->type_name("optimizers|models|data|schedules")->required();
  command->callback([what, &context] { context.run = [what, &context] { return run_list(*what, context); }; });
}

}  // namespace trainx::app
