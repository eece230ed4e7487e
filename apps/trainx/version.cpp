#include "build_info.hpp"
#include "commands.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace trainx::app {

void add_version(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("version", "Print version, commit and build.");
  context.usage[command] = "";
  command->callback([&context] {
    context.run = [&context] {
      print(context.output.json ? nlohmann::json(build_info()).dump() : build_words());
      return 0;
    };
  });
}

}  // namespace trainx::app
