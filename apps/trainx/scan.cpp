#include "scan.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/suggest.hpp"
#include <algorithm>

namespace trainx::app {
namespace {

using Names = std::vector<std::string>;

bool set_global(const std::string& flag, Scan& scan, Context& context) {
  auto& o = context.output;
  if (flag == "--json")
    o.json = true;
  else if (flag == "-q" || flag == "--quiet")
    o.quiet = true;
  else if (flag == "-v" || flag == "--verbose")
    o.verbose = true;
  else if (flag == "--no-color")
    o.color = false;
  else if (flag == "-h" || flag == "--help")
    scan.help = true;
  else if (flag == "--version")
    scan.version = true;
  else
    return false;
  return true;
}

// -qv is -q -v.
bool set_short_globals(const std::string& flags, Scan& scan, Context& context) {
  if (flags.size() < 3 || flags[1] == '-' || flags.find_first_not_of("qvh", 1) != std::string::npos)
    return false;
  for (std::size_t i = 1; i < flags.size(); ++i)
    set_global(std::string("-") + flags[i], scan, context);
  return true;
}

/// "trainx ckpt ls"
std::string full_name(const CLI::App& command) {
  return command.get_parent() ? full_name(*command.get_parent()) + " " + command.get_name()
                              : command.get_name();
}

/// A sentence about a command, which its name begins and its help ends.
[[noreturn]] void refuse(const CLI::App& command, const std::string& sentence) {
  const std::string name = full_name(command);
  const std::string prefix = command.get_parent() ? name.substr(name.find(' ') + 1) + ": " : "";
  throw UserError(ExitCode::usage, prefix + sentence + "; see " + name + " --help");
}

Names subcommands_of(const CLI::App& command) {
  Names names;
  for (const CLI::App* sub : command.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

const CLI::App& subcommand(const CLI::App& command, const std::string& name) {
  for (const CLI::App* sub : command.get_subcommands({}))
    if (sub->get_name() == name) return *sub;
  refuse(command,
         "there is no command '" + name + "'" + did_you_mean(name, subcommands_of(command)));
}

[[noreturn]] void unknown_flag(const CLI::App& command, const std::string& flag) {
  Names known{"--version"};
  for (const GlobalFlag& global : global_flags()) known.push_back(global.name);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string name = flag.substr(0, flag.find('='));
  std::string hint = did_you_mean(name, known);
  // --optimizer.lr=1e-3: a setting, written like a flag.
  if (hint.empty() && name.find('.') != std::string::npos)
    hint = " (did you mean the setting '" + flag.substr(flag.find_first_not_of('-')) +
           "', which has no dashes?)";
  refuse(command, "there is no flag '" + name + "'" + hint);
}

/// Does this flag of the command take the next argument?
bool takes_next(const CLI::App& command, const std::string& flag) {
  const auto equals = flag.find('=');
  const CLI::Option* option = command.get_option_no_throw(flag.substr(0, equals));
  if (!option) unknown_flag(command, flag);
  return equals == std::string::npos && option->get_items_expected_max() > 0;
}

}  // namespace

const std::vector<GlobalFlag>& global_flags() {
  static const std::vector<GlobalFlag> all{
      {"", "--json", "", "Print events or the answer as JSON on stdout, one object a line."},
      {"-q", "--quiet", "", "Print warnings and errors only."},
      {"-v", "--verbose", "", "Print more detail."},
      {"", "--no-color", "", "No colours; also: NO_COLOR."},
      {"", "--worker", "PATH", "Worker with models of your own; also: TRAINX_WORKER."},
      {"", "--help", "", "Print help of trainx, or of the command."}};
  return all;
}

Scan scan_arguments(const CLI::App& app, const Names& arguments, Context& context) {
  Scan scan;
  scan.command = &app;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!is_utf8(argument))
      throw UserError(ExitCode::usage, "argument " + std::to_string(i + 1) + " is not UTF-8");
    if (argument == "--") {
      scan.rest.insert(scan.rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                       arguments.end());
      break;
    }
    if (argument == "--worker" || argument.starts_with("--worker=")) {
      const bool joined = argument != "--worker";
      if (!joined && i + 1 == arguments.size())
        throw UserError(ExitCode::usage, "--worker takes the path of a worker");
      context.worker = joined ? argument.substr(std::string("--worker=").size()) : arguments[++i];
      if (context.worker.empty())
        throw UserError(ExitCode::usage, "--worker takes the path of a worker");
      continue;
    }
    const bool flag = argument.size() > 1 && argument[0] == '-';
    if (flag && (set_global(argument, scan, context) || set_short_globals(argument, scan, context)))
      continue;
    if (flag && scan.command == &app) unknown_flag(app, argument);
    scan.rest.push_back(argument);
    if (flag) {
      if (takes_next(*scan.command, argument) && i + 1 < arguments.size())
        scan.rest.push_back(arguments[++i]);
    } else if (!scan.command->get_subcommands({}).empty()) {
      scan.command = &subcommand(*scan.command, argument);
    }
  }
  return scan;
}

}  // namespace trainx::app
