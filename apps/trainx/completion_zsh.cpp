#include "completion_scripts.hpp"

namespace trainx::app {
namespace {

const char* const zsh_logic = R"sh(
# What may follow, of the kinds in $1.
_trainx_offer() {
  local what
  local -a words runs
  for what in ${=1}; do
    case $what in
    =*) words+=(${what#=}) ;;
    setting) _trainx_settings ;;
    recipe) _files -g '*.(yaml|yml)(-.)' ;;
    file) _files ;;
    folder) _files -/ ;;
    run)
      runs=(outputs/*/resolved.yaml(N:h))
      (( $#runs )) && compadd -- $runs
      _files -/ ;;
    esac
  done
  (( $#words )) && compadd -- $words
}

# key=, or behind the '=' the words that the key takes.
_trainx_settings() {
  local key
  if [[ $PREFIX == *=* ]]; then
    key=${PREFIX%%=*}
    compset -P 1 '*='
    compadd -- ${=_trainx_words[$key]}
  else
    _describe -t keys 'key' _trainx_keys -S =
  fi
}

# Sets key to where _trainx_values has a flag that a value follows.
_trainx_key() {
  for key in ":$command $1" ": $1"; do
    (( ${+_trainx_values[$key]} )) && return 0
  done
  return 1
}

_trainx() {
  local word key command= subcommands takes configured= skip= i
  local -a offered
  _trainx_command ''
  for (( i = 2; i < CURRENT; ++i )); do
    word=${words[i]}
    if [[ -n $skip ]]; then skip=; continue; fi
    if [[ $word == -* ]]; then
      _trainx_key $word && skip=$word
    elif [[ " $subcommands " == *" $word "* ]]; then
      command=${command:+$command }$word
      _trainx_command $command
    elif [[ $word != *=* ]]; then
      configured=1
    fi
  done
  if [[ -n $skip ]]; then
    _trainx_key $skip
    _trainx_offer "${_trainx_values[$key]}"
  elif [[ $PREFIX == --*=* ]]; then
    _trainx_key ${PREFIX%%=*} || return 1
    compset -P 1 '*='
    _trainx_offer "${_trainx_values[$key]}"
  elif [[ $PREFIX == -* ]]; then
    key=":$command"
    offered=("${(@f)_trainx_flags[$key]}" "${(@f)_trainx_flags[:]}")
    [[ $key == : ]] && offered=("${(@f)_trainx_flags[:]}")
    offered=(${offered:#})
    _describe -o 'flag' offered
  elif [[ -n $subcommands ]]; then
    [[ -n $configured ]] && return 1                     # a word that is no command: nothing follows
    key=":$command"
    offered=("${(@f)_trainx_about[$key]}")
    _describe 'command' offered
  else
    [[ -n $configured ]] && takes=${takes/recipe/}       # the recipe stands already: settings are left
    _trainx_offer $takes
  fi
}

if [[ $funcstack[1] == _trainx ]]; then
  _trainx "$@"
else
  compdef _trainx trainx
fi
)sh";

/// "name:about", as _describe takes it.
std::string described(const std::string& name, const std::string& about) {
  std::string out;
  for (const char c : name) out += c == ':' ? std::string("\\:") : std::string(1, c);
  return out + ":" + about;
}

}  // namespace

std::string zsh_completion(const std::vector<CompletedCommand>& commands,
                           const std::vector<CompletedKey>& keys) {
  std::string table =
      "# What a command has: sets subcommands, and the kinds of its arguments.\n_trainx_command() "
      "{\n  subcommands= takes=\n  case $1 in\n";
  std::string values = "typeset -gA _trainx_values=(\n", flags = "typeset -gA _trainx_flags=(\n",
              about = "typeset -gA _trainx_about=(\n";
  for (const CompletedCommand& command : commands) {
    std::string of_flags, of_subcommands;
    for (const CompletedFlag& flag : command.flags) {
      for (const std::string& name : flag.names) {
        of_flags += (of_flags.empty() ? "" : "\n") + described(name, flag.about);
        if (flag.takes_value)
          values += "  " + in_quotes(":" + command.name + " " + name) + " " +
                    in_quotes(to_tokens(flag.value)) + "\n";
      }
    }
    const std::string prefix = command.name.empty() ? "" : command.name + " ";
    for (const std::string& name : command.subcommands)
      for (const CompletedCommand& sub : commands)
        if (sub.name == prefix + name)
          of_subcommands += (of_subcommands.empty() ? "" : "\n") + described(name, sub.about);
    flags += "  " + in_quotes(":" + command.name) + " " + in_quotes(of_flags) + "\n";
    if (!of_subcommands.empty())
      about += "  " + in_quotes(":" + command.name) + " " + in_quotes(of_subcommands) + "\n";
    table += "  " + in_quotes(command.name) +
             ") subcommands=" + in_quotes(joined_by_blanks(command.subcommands)) +
             " takes=" + in_quotes(to_tokens(command.arguments)) + " ;;\n";
  }
  std::string names = "typeset -ga _trainx_keys=(\n", words = "typeset -gA _trainx_words=(\n";
  for (const CompletedKey& key : keys) {
    names += "  " + in_quotes(described(key.key, key.about)) + "\n";
    if (!key.words.empty())
      words += "  " + in_quotes(key.key) + " " + in_quotes(joined_by_blanks(key.words)) + "\n";
  }
  return "#compdef trainx\n# zsh completes trainx by this; written by `trainx completion zsh`.\n"
         "# In this shell, after compinit: source <(trainx completion zsh)    In all: trainx "
         "completion zsh >FOLDER/_trainx, FOLDER being one of $fpath\n\n" +
         table +
         "  esac\n}\n# Flags that a value follows, and what it may be; all flags and commands with "
         "what they do.\n" +
         values + ")\n" + flags + ")\n" + about +
         ")\n# Keys of recipes, and the words that they take.\n" + names + ")\n" + words + ")\n" +
         zsh_logic;
}

}  // namespace trainx::app
