#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "recipe/schema.hpp"
#include "table.hpp"
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

namespace trainx::app {
namespace {

/// "quickstart|gpt2|..."
std::string names() {
  std::string words;
  for (const auto& [name, purpose] : recipe::init_names())
    words += (words.empty() ? "" : "|") + name;
  return words;
}

/// What leads from the recipe to a trained model, a command a line.
std::string next_steps(const std::string& name, const std::string& path) {
  const recipe::InitSteps& before = recipe::init_steps(name);
  std::string text = "wrote " + path + (before.needs.empty() ? "" : "; it needs " + before.needs);
  std::vector<std::string> commands = before.commands;
  commands.push_back("trainx train " + path);
  for (std::size_t i = 0; i < commands.size(); ++i)
    text += (i == 0 ? "\nnext: " : "\n      ") + commands[i];
  return text;
}

struct InitArguments {
  std::string name, output;
  bool list = false;
};

int run_init(const InitArguments& a, const Context& context) {
  if (a.list) {
    print(two_columns(recipe::init_names(), context.output.json));
    return 0;
  }
  if (a.name.empty())
    throw UserError(ExitCode::usage, "init: no recipe given; list them: trainx init --list");
  const std::string path = a.output.empty() ? a.name + ".yaml" : a.output;
  const bool to_stdout = path == "-";
  const std::string text = recipe::commented_recipe(
      a.name, to_stdout ? a.name : std::filesystem::path(path).stem().string());
  if (to_stdout) {
    print(text);
    return 0;
  }
  if (std::filesystem::exists(path))
    throw UserError(ExitCode::cannot_create,
                    path + " exists; move it away, or name another file with --output");
  write_file_atomic(path, text);
  say(context, next_steps(a.name, path));
  return 0;
}

}  // namespace

void add_init(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("init", "Write a commented starter recipe.");
  context.usage[command] = "NAME [--output FILE]\n--list";
  const auto a = std::make_shared<InitArguments>();
  command->add_option("NAME", a->name, "Recipe to write, to NAME.yaml.")->type_name(names());
  command->add_option("--output", a->output, "File to write instead; - for stdout.")
      ->type_name("FILE");
  command->add_flag("--list", a->list, "List the recipes.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_init(*a, context); }; });
}

}  // namespace trainx::app
