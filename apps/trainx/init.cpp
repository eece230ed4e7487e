#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "recipe/schema.hpp"
#include "table.hpp"
#include <CLI/CLI.hpp>
#include <filesystem>

namespace trainx::app {
namespace {

/// "quickstart|gpt2|..."
std::string names() {
  std::string words;
  for (const auto& [name, purpose] : recipe::init_names()) words += (words.empty() ? "" : "|") + name;
  return words;
}

struct Arguments {
  std::string name, output;
  bool list = false;
};

int run_init(const Arguments& a, const Context& context) {
  if (a.list) {
    print(two_columns(recipe::init_names(), context.output.json));
    return 0;
  }
  if (a.name.empty()) throw UserError(ExitCode::usage, "init: which recipe? trainx init NAME; trainx init --list names them");
  const std::string text = recipe::commented_recipe(a.name);
  const std::string path = a.output.empty() ? a.name + ".yaml" : a.output;
  if (path == "-") {
    print(text);
    return 0;
  }
  if (std::filesystem::exists(path)) throw UserError(ExitCode::cannot_create, path + " is there already; move it away, or name another file with --output");
  write_file_atomic(path, text);
  say(context, "wrote " + path + "; next: trainx train " + path);
  return 0;
}

}  // namespace

void add_init(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("init", "writes a commented recipe to begin with");
  context.usage[command] = "NAME [--output FILE]   or   trainx init --list";
  const auto a = std::make_shared<Arguments>();
  command->add_option("NAME", a->name, "which; it is written to NAME.yaml")->type_name(names());
  command->add_option("--output", a->output, "another file; - for stdout")->type_name("FILE");
  command->add_flag("--list", a->list, "the recipes that there are");
  command->callback([a, &context] { context.run = [a, &context] { return run_init(*a, context); }; });
}

}  // namespace trainx::app
