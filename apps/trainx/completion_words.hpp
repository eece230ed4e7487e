// What can be completed on trainx's command line, for every shell alike: from the declared commands
// and the recipe's fields.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace trainx::app {

/// What an argument may be: any of these.
struct Takes {
  std::vector<std::string> words;  // literally
  bool recipe = false, settings = false, run = false, file = false, folder = false;
};

struct CompletedFlag {
  std::vector<std::string> names;  // "--nproc-per-node", "--nproc"
  std::string about;
  bool takes_value = false;
  Takes value;
};

struct CompletedCommand {
  std::string name;  // "" of trainx itself, "data tokenize"
  std::string about;
  std::vector<std::string> subcommands;  // with them no arguments
  std::vector<CompletedFlag> flags;
  Takes arguments;
};

struct CompletedKey {
  std::string key, about;
  std::vector<std::string> words;  // that it takes by name
};

/// All commands, `app` first, each with its flags; those that may stand anywhere belong to `app`.
std::vector<CompletedCommand> completed_commands(const CLI::App& app);
/// Of recipes, as key=value sets them; those of all types.
std::vector<CompletedKey> completed_keys();

}  // namespace trainx::app
