#include "completion_scripts.hpp"

namespace trainx::app {
namespace {

// COMP_WORDS is cut at '=' and ':' as well (COMP_WORDBREAKS), and what is completed replaces the
// last piece alone: words are taken from the line, and what stands before the piece is taken off
// the answers.
const char* const bash_logic = R"sh(
# What may follow, of the kinds in $1, that begins with $2.
_trainx_offer() {
  local what found
  for what in $1; do
    case $what in
    =*) [[ ${what#=} == "$2"* ]] && COMPREPLY+=("${what#=} ") ;;
    setting) _trainx_settings "$2" ;;
    recipe) _trainx_paths "$2" '*.yaml' '*.yml' ;;
    file) _trainx_paths "$2" '*' ;;
    folder) _trainx_paths "$2" ;;
    run)
      if [[ $2 != */* ]]; then
        for found in outputs/*/resolved.yaml; do
          [[ -e $found && $found == "$2"* ]] && found=${found%resolved.yaml} && COMPREPLY+=("${found// /\\ }")
        done
      fi
      _trainx_paths "$2" ;;                              # a run's folder has its checkpoints
    esac
  done
}

# Folders, and files whose name is like one of the patterns.
_trainx_paths() {
  local begin=$1 path pattern
  shift
  while IFS= read -r path; do
    if [[ -d ${path/#\~\//$HOME/} ]]; then
      COMPREPLY+=("${path// /\\ }/")
      continue
    fi
    for pattern; do
      [[ ${path##*/} == $pattern ]] && COMPREPLY+=("${path// /\\ } ") && break
    done
  done < <(compgen -f -- "$begin")
}

# key=, or behind the '=' the words that the key takes.
_trainx_settings() {
  local key word
  if [[ $1 == *=* ]]; then
    for word in ${_trainx_words[${1%%=*}]}; do
      [[ $word == "${1#*=}"* ]] && COMPREPLY+=("${1%%=*}=$word ")
    done
  else
    for key in $_trainx_keys; do
      [[ $key == "$1"* ]] && COMPREPLY+=("$key=")
    done
  fi
}

_trainx() {
  local words=() word current command= subcommands flags takes configured= skip= i cut=
  read -a words <<< "${COMP_LINE:0:COMP_POINT}"           # without -r: `\ ` is a blank of a name
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && words+=('')
  current=${words[-1]}
  COMPREPLY=()
  _trainx_command ''
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    word=${words[i]}
    if [[ $skip ]]; then skip=; continue; fi
    if [[ $word == -* ]]; then
      [[ $word != *=* && ${_trainx_flags["$command $word"]+takes} || $word == --worker ]] && skip=$word
    elif [[ " $subcommands " == *" $word "* ]]; then
      command=${command:+$command }$word
      _trainx_command "$command"
    elif [[ $word != *=* ]]; then
      configured=1
    fi
  done
  if [[ $skip ]]; then
    _trainx_offer "${_trainx_flags["$command $skip"]-${_trainx_flags[" $skip"]}}" "$current"
  elif [[ $current == --*=* ]]; then
    word=${current%%=*}
    _trainx_offer "${_trainx_flags["$command $word"]-${_trainx_flags[" $word"]}}" "${current#*=}"
    COMPREPLY=("${COMPREPLY[@]/#/$word=}")
  elif [[ $current == -* ]]; then
    for word in $flags $_trainx_anywhere; do
      [[ $word == "$current"* ]] && COMPREPLY+=("$word ")
    done
  elif [[ $subcommands ]]; then
    [[ $configured ]] && return 0                        # a word that is no command: nothing follows
    for word in $subcommands; do
      [[ $word == "$current"* ]] && COMPREPLY+=("$word ")
    done
  else
    [[ $configured ]] && takes=${takes/recipe/}          # the recipe stands already: settings are left
    _trainx_offer "$takes" "$current"
  fi
  for word in = :; do
    [[ $COMP_WORDBREAKS == *"$word"* && $current == *"$word"* ]] && word=${current%"$word"*}$word && [[ ${#word} -gt ${#cut} ]] && cut=$word
  done
  [[ $cut ]] && COMPREPLY=("${COMPREPLY[@]#"$cut"}")
  return 0
}

complete -o nospace -F _trainx trainx
)sh";

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands,
                            const std::vector<CompletedKey>& keys) {
  std::string out =
      "# bash completes trainx by this; written by `trainx completion bash`.\n"
      "# In this shell: source <(trainx completion bash)    In all: trainx completion bash "
      ">~/.local/share/bash-completion/completions/trainx\n\n";
  std::string table =
      "# What a command has: sets subcommands, flags, and the kinds of its "
      "arguments.\n_trainx_command() {\n  subcommands= flags= takes=\n  case $1 in\n";
  std::string
      values = "# Flags that a value follows, and what it may be.\ndeclare -gA _trainx_flags=(\n",
      anywhere;
  for (const CompletedCommand& command : commands) {
    std::string flags;
    for (const CompletedFlag& flag : command.flags) {
      flags += " " + joined_by_blanks(flag.names);
      for (const std::string& name : flag.names)
        if (flag.takes_value)
          values += "  [" + in_quotes(command.name + " " + name) +
                    "]=" + in_quotes(to_tokens(flag.value)) + "\n";
    }
    if (command.name.empty()) anywhere = std::move(flags);
    table += "  " + in_quotes(command.name) +
             ") subcommands=" + in_quotes(joined_by_blanks(command.subcommands)) +
             " flags=" + in_quotes(command.name.empty() ? "" : flags) +
             " takes=" + in_quotes(to_tokens(command.arguments)) + " ;;\n";
  }
  out += table + "  esac\n}\n_trainx_anywhere=" + in_quotes(anywhere) + "\n" + values + ")\n";
  std::string names, words;
  for (const CompletedKey& key : keys) {
    names += key.key + "\n";
    if (!key.words.empty())
      words += "  [" + in_quotes(key.key) + "]=" + in_quotes(joined_by_blanks(key.words)) + "\n";
  }
  return out +
         "# Keys of recipes, and the words that they take.\n_trainx_keys=" + in_quotes(names) +
         "\ndeclare -gA _trainx_words=(\n" + words + ")\n" + bash_logic;
}

}  // namespace trainx::app
