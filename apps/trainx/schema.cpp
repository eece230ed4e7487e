#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "recipe/json_schema.hpp"
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

/// A schema of another version is replaced; anything else that is there is somebody's file.
bool is_schema(const std::string& path) {
  const auto there = nlohmann::json::parse(read_file(path), nullptr, false);
  return there.is_object() && there.contains("$schema");
}

int run_schema(const std::string& output, const Context& context) {
  const std::string text = recipe::json_schema().dump(context.output.json ? -1 : 1) + "\n";
  if (output.empty() || output == "-") {
    print(text);
    return 0;
  }
  if (std::filesystem::exists(output) &&
      !(std::filesystem::is_regular_file(output) && is_schema(output)))
    throw UserError(ExitCode::cannot_create, output +
                                                 " is there already and is no JSON Schema; move it "
                                                 "away, or name another file with --output");
  write_file_atomic(output, text);
  say(context,
      "wrote " + output +
          "; editors follow it from recipes that begin with: # yaml-language-server: $schema=" +
          output);
  return 0;
}

}  // namespace

void add_schema(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("schema", "Print the JSON Schema of recipes, for editors.");
  context.usage[command] = "[--output FILE]";
  const auto output = std::make_shared<std::string>();
  command
      ->add_option("--output", *output,
                   "File to write instead of stdout; an existing schema is replaced.")
      ->type_name("FILE");
  command->footer("With --worker, models of your own worker are included.");
  command->callback([output, &context] {
    context.run = [output, &context] { return run_schema(*output, context); };
  });
}

}  // namespace trainx::app
