#include "commands.hpp"
#include "completion_scripts.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <memory>

namespace trainx::app {

std::string in_quotes(const std::string& text, bool fish) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += fish ? "\\'" : "'\\''";
    else if (c == '\\' && fish)
      out += "\\\\";
    else
      out += c;
  }
  return out + "'";
}

std::string joined_by_blanks(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string to_tokens(const Takes& takes) {
  std::vector<std::string> tokens;
  for (const auto& [there, token] : {std::pair{takes.recipe, "recipe"},
                                     {takes.settings, "setting"},
                                     {takes.run, "run"},
                                     {takes.file, "file"},
                                     {takes.folder, "folder"}})
    if (there) tokens.emplace_back(token);
  for (const std::string& word : takes.words) tokens.push_back("=" + word);
  return joined_by_blanks(tokens);
}

namespace {

std::string script_for(const std::string& shell, const std::vector<CompletedCommand>& commands) {
  if (shell == "bash") return bash_completion(commands, completed_keys());
  if (shell == "zsh") return zsh_completion(commands, completed_keys());
  if (shell == "fish") return fish_completion(commands, completed_keys());
  throw UserError(ExitCode::usage, "completion: for bash, zsh and fish, not '" + shell + "'" +
                                       did_you_mean(shell, {"bash", "zsh", "fish"}));
}

int run_completion(const std::string& shell, const std::vector<CompletedCommand>& commands,
                   const Context& context) {
  const std::string script = script_for(shell, commands);
  print(context.output.json ? nlohmann::json{{"shell", shell}, {"script", script}}.dump() : script);
  return 0;
}

}  // namespace

void add_completion(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script that completes commands, flags, keys and values in a shell.");
  context.usage[command] = "bash|zsh|fish";
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "Shell.")->type_name("bash|zsh|fish")->required();
  command->footer(
      "In this shell: source <(trainx completion bash). The first lines of the script say how to "
      "install it.\n"
      "With --worker, options of your own models are completed too.");
  // `app` ends with the parsing of the command line; a worker's models are known after it.
  command->callback([shell, &app, &context] {
    context.run = [shell, commands = completed_commands(app), &context] {
      return run_completion(*shell, commands, context);
    };
  });
}

}  // namespace trainx::app
