#include "commands.hpp"
#include <CLI/CLI.hpp>

namespace trainx::app {

void add_data(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("data", "Tokenize text, pack documents, inspect token files.");
  context.usage[command] = "tokenize|pack|inspect ...";
  add_data_tokenize(*command, context);
  add_data_pack(*command, context);
  add_data_inspect(*command, context);
}

}  // namespace trainx::app
