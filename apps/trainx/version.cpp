#include "core/version.hpp"
#include "commands.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace trainx::app {

void add_version(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("version", "the version of trainx");
  context.usage[command] = "";
  command->callback([&context] {
    context.run = [&context] {
      print(context.output.json ? nlohmann::json{{"version", version}}.dump() : "trainx " + std::string(version));
      return 0;
    };
  });
}

}  // namespace trainx::app
