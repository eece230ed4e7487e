#include "completion_scripts.hpp"

namespace trainx::app {
namespace {

const char* const fish_logic = R"sh(
# The command of the line so far: "", "train", "data tokenize".
function __trainx_command
    set -l command
    set -l skip
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip
        else if string match -q -- '-*' $word
            contains -- (string join ' ' -- $command $word) $__trainx_takes_value; or contains -- $word $__trainx_takes_value; and set skip 1
        else if contains -- (string join ' ' -- $command $word) $__trainx_commands
            set -a command $word
        end
    end
    string join ' ' -- $command
end

function __trainx_is
    set -l command (__trainx_command)
    test "$command" = "$argv[1]"
end

# No word of the line is anything but command, flag or setting: a recipe, or a command of a command, may come.
function __trainx_is_first
    set -l command (__trainx_command | string split -n ' ')
    set -l rest
    for word in (commandline -opc)[2..]
        string match -qr -- '^-|=' $word; or contains -- $word $command; or set -a rest $word
    end
    test (count $rest) -eq 0
end

# key=, or where a key stands already key=word.
function __trainx_settings
    set -l token (commandline -ct)
    if string match -q -- '*=*' $token
        set -l key (string split -m 1 '=' -- $token)[1]
        for line in $__trainx_words
            set -l found (string split -m 1 ' ' -- $line)
            test "$found[1]" = "$key"; and printf "$key=%s\n" (string split ' ' -- $found[2])
        end
    else
        printf '%s\n' $__trainx_keys
    end
end

function __trainx_runs
    for resolved in outputs/*/resolved.yaml
        string replace /resolved.yaml '' -- $resolved
    end
    __fish_complete_directories (commandline -ct)
end
)sh";

/// Arguments of `complete` for what may be offered.
std::string offers(const Takes& takes) {
  std::string out;
  if (!takes.words.empty()) out += " " + joined_by_blanks(takes.words);
  if (takes.run) out += " (__trainx_runs)";
  if (takes.folder && !takes.file) out += " (__fish_complete_directories (commandline -ct))";
  if (takes.recipe) out += " (__fish_complete_suffix .yaml .yml)";
  return out;
}

std::string condition(const std::string& command) {
  return "-n " + in_quotes("__trainx_is \"" + command + "\"", true);
}

std::string flag_line(const CompletedFlag& flag, const std::string& where) {
  std::string line = "complete -c trainx" + where;
  for (const std::string& name : flag.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (flag.takes_value) line += flag.value.file ? " -r" : " -x";
  if (const std::string offered = offers(flag.value); flag.takes_value && !offered.empty())
    line += " -a " + in_quotes(offered.substr(1), true);
  return line + " -d " + in_quotes(flag.about, true) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands,
                            const std::vector<CompletedKey>& keys) {
  std::string names = "set -g __trainx_commands", takes_value = "set -g __trainx_takes_value",
              lines = "complete -c trainx -e\ncomplete -c trainx -f\n";
  for (const CompletedCommand& command : commands) {
    if (!command.name.empty()) names += " " + in_quotes(command.name, true);
    const std::string prefix = command.name.empty() ? "" : command.name + " ",
                      where = command.name.empty() ? "" : " " + condition(command.name);
    for (const CompletedFlag& flag : command.flags) {
      for (const std::string& name : flag.names)
        if (flag.takes_value) takes_value += " " + in_quotes(prefix + name, true);
      lines += flag_line(flag, where);
    }
    for (const std::string& name : command.subcommands)
      for (const CompletedCommand& sub : commands)
        if (sub.name == prefix + name)
          lines += "complete -c trainx -n " +
                   in_quotes("__trainx_is \"" + command.name + "\"; and __trainx_is_first", true) +
                   " -a " + name + " -d " + in_quotes(sub.about, true) + "\n";
    const Takes& takes = command.arguments;
    if (takes.settings)
      lines += "complete -c trainx " + condition(command.name) + " -a '(__trainx_settings)'\n";
    if (takes.file) lines += "complete -c trainx " + condition(command.name) + " -F\n";
    if (const std::string offered = offers(takes); !offered.empty())
      lines += "complete -c trainx -n " +
               in_quotes("__trainx_is \"" + command.name + "\"" +
                             (takes.recipe ? "; and __trainx_is_first" : ""),
                         true) +
               " -a " + in_quotes(offered.substr(1), true) + "\n";
  }
  std::string all_keys = "set -g __trainx_keys", words = "set -g __trainx_words";
  for (const CompletedKey& key : keys) {
    all_keys += " \\\n    " + in_quotes(key.key + "=", true) + "\\t" + in_quotes(key.about, true);
    if (!key.words.empty())
      words += " \\\n    " + in_quotes(key.key + " " + joined_by_blanks(key.words), true);
  }
  return "# fish completes trainx by this; written by `trainx completion fish`.\n"
         "# In this shell: trainx completion fish | source    In all: trainx completion fish "
         ">~/.config/fish/completions/trainx.fish\n\n" +
         names + "\n# Flags that a value follows.\n" + takes_value +
         "\n# Keys of recipes with what they do, and the words that they take.\n" + all_keys +
         "\n" + words + "\n" + fish_logic + "\n" + lines;
}

}  // namespace trainx::app
