#include "command_line.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "log/log.hpp"
#include "help.hpp"
#include "scan.hpp"
#include <unistd.h>
#include <cstdlib>
#include <algorithm>
#include <memory>

namespace trainx::app {
namespace {

// Known before anything can be refused.
bool wants_color(const std::vector<std::string>& arguments) {
  const std::string terminal = environment_variable("TERM");
  return std::ranges::find(arguments, "--no-color") == arguments.end() &&
         environment_variable("NO_COLOR").empty() && ::isatty(STDERR_FILENO) == 1 &&
         !terminal.empty() && terminal != "dumb";
}

// CLI11's sentences name arguments well; they lack where to look further.
[[noreturn]] void refuse(const CLI::App& command, const CLI::ParseError& error) {
  std::string sentence = error.what();
  if (const std::string unclear = "Could not convert: "; sentence.starts_with(unclear))
    sentence = "cannot read " + sentence.substr(unclear.size()) + " as a number";
  while (!sentence.empty() && (sentence.back() == '\n' || sentence.back() == '.'))
    sentence.pop_back();
  std::string name = command.get_name();
  if (command.get_parent() && command.get_parent()->get_parent())
    name = command.get_parent()->get_name() + " " + name;
  throw UserError(ExitCode::usage, name + ": " + sentence + "; see trainx " + name + " --help");
}

}  // namespace

void parse_command_line(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("Train transformers from a recipe.", "trainx");
  context.usage[&app] = "COMMAND [arguments]";
  app.formatter(std::make_shared<HelpFormatter>(context.usage, help_width()));
  app.set_help_flag();
  for (const auto add :
       {add_init,   add_train,  add_validate, add_plan,       add_show,   add_eval,   add_generate,
        add_ckpt,   add_report, add_export,   add_import,     add_data,   add_sweep,  add_bench,
        add_verify, add_list,   add_schema,   add_completion, add_doctor, add_version})
    add(app, context);

  context.output.color = wants_color(arguments);
  log::level_from_environment();  // refused here, used by whoever logs
  context.worker = environment_variable("TRAINX_WORKER");
  const Scan scan = scan_arguments(app, arguments, context);
  // for whatever is started
  if (!context.worker.empty()) ::setenv("TRAINX_WORKER", context.worker.c_str(), 1);
  if (scan.help) {
    print(scan.command->help());
    context.run = [] { return 0; };
    return;
  }
  if (scan.version && scan.command == &app) {
    print("trainx " + std::string(version));
    context.run = [] { return 0; };
    return;
  }
  if (!scan.command->get_subcommands({}).empty()) {
    if (scan.command == &app)
      throw UserError(ExitCode::usage,
                      "no command; see trainx --help, or begin with: trainx init quickstart");
    const std::string name = scan.command->get_name(), &usage = context.usage.at(scan.command);
    throw UserError(ExitCode::usage, name + ": no command given; usage: trainx " + name + " " +
                                         usage.substr(0, usage.find('\n')));
  }
  std::vector<std::string> reversed(scan.rest.rbegin(), scan.rest.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) { refuse(*scan.command, error); }
}

}  // namespace trainx::app
