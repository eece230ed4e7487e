#include "command_line.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "scan.hpp"
#include <unistd.h>
#include <cstdlib>
#include <algorithm>

namespace trainx::app {
namespace {

constexpr std::size_t help_column = 34;

std::string anywhere() {
  std::string text = "anywhere:\n";
  for (const GlobalFlag& flag : global_flags()) {
    std::string line = "  " + (flag.short_name.empty() ? "" : flag.short_name + ", ") + flag.name + (flag.takes.empty() ? "" : " " + flag.takes);
    line.resize(std::max(line.size() + 1, help_column), ' ');
    text += line + flag.about + "\n";
  }
  return text;
}

/// CLI11's help, with a usage line that shows what a command takes.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const Context& context) : context_(context) { column_width(help_column); }
  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string names = app->get_name();
    for (const CLI::App* parent = app->get_parent(); parent; parent = parent->get_parent()) names = parent->get_name() + " " + names;
    const auto usage = context_.usage.find(app);
    return "usage: " + names + " " + (usage == context_.usage.end() ? "COMMAND" : usage->second) + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return option->get_positional() || type.empty() ? "" : " " + type;
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string own = CLI::Formatter::make_footer(app);
    return own.empty() ? anywhere() : own + "\n" + anywhere();
  }

 private:
  const Context& context_;
};

// Known before anything can be refused.
bool wants_color(const std::vector<std::string>& arguments) {
  const std::string terminal = environment_variable("TERM");
  return std::ranges::find(arguments, "--no-color") == arguments.end() && environment_variable("NO_COLOR").empty() && ::isatty(STDERR_FILENO) == 1 && !terminal.empty() && terminal != "dumb";
}

// CLI11's sentences name arguments well; they lack where to look further.
[[noreturn]] void refuse(const CLI::App& command, const CLI::ParseError& error) {
  std::string sentence = error.what();
  if (const std::string unclear = "Could not convert: "; sentence.starts_with(unclear)) sentence = "cannot read " + sentence.substr(unclear.size()) + " as a number";
  while (!sentence.empty() && (sentence.back() == '\n' || sentence.back() == '.')) sentence.pop_back();
  std::string name = command.get_name();
  if (command.get_parent() && command.get_parent()->get_parent()) name = command.get_parent()->get_name() + " " + name;
  throw UserError(ExitCode::usage, name + ": " + sentence + "; see trainx " + name + " --help");
}

}  // namespace

void parse_command_line(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("trains transformers from a recipe; the guide is README.md", "trainx");
  context.usage[&app] = "COMMAND [arguments]";
  app.formatter(std::make_shared<HelpFormatter>(context));
  app.set_help_flag();
  for (const auto add : {add_init, add_train, add_validate, add_plan, add_show, add_eval, add_generate, add_ckpt, add_report, add_export, add_import, add_data, add_bench, add_verify, add_list, add_schema, add_completion, add_doctor, add_version}) add(app, context);

  context.output.color = wants_color(arguments);
  context.worker = environment_variable("TRAINX_WORKER");
  const Scan scan = scan_arguments(app, arguments, context);
  if (!context.worker.empty()) ::setenv("TRAINX_WORKER", context.worker.c_str(), 1);   // for whatever is started
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
  if (!scan.command->get_subcommands({}).empty())
    throw UserError(ExitCode::usage, scan.command == &app ? "no command; see trainx --help, or begin with: trainx init quickstart" : scan.command->get_name() + ": what of it? trainx " + scan.command->get_name() + " " + context.usage.at(scan.command));
  std::vector<std::string> reversed(scan.rest.rbegin(), scan.rest.rend());   // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    refuse(*scan.command, error);
  }
}

}  // namespace trainx::app
