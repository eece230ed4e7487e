#include "help.hpp"
#include "core/number.hpp"
#include "core/process.hpp"
#include "scan.hpp"
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>

namespace trainx::app {
namespace {

constexpr std::size_t narrowest = 40, widest = 100, usual = 80;
constexpr std::size_t about_column = 24;

/// "--nproc-per-node, --nproc": CLI11 leaves no blank after the comma.
std::string spaced(const std::string& names) {
  std::string out;
  for (const char c : names) out += c == ',' ? std::string(", ") : std::string(1, c);
  return out;
}

std::string of_every_command(std::size_t width) {
  std::string text = "anywhere:\n";
  for (const GlobalFlag& flag : global_flags()) {
    const std::string names = (flag.short_name.empty() ? "" : flag.short_name + ", ") + flag.name;
    text += help_entry(names + (flag.takes.empty() ? "" : " " + flag.takes), flag.about, width);
  }
  text += "environment:\n";
  text += help_entry("TRAINX_SET", "Settings for every command, below those of the command line.",
                     width);
  text += help_entry("TRAINX_LOG",
                     "Messages to show: debug, info, warning or error. debug also fills RUN/logs/.",
                     width);
  text += help_entry("TRAINX_WORKER", "As --worker.", width);
  text += help_entry("NO_COLOR", "As --no-color.", width);
  return text;
}

}  // namespace

std::size_t help_width() {
  const auto named = parse_integer(environment_variable("COLUMNS"));
  std::size_t width = usual;
  winsize size{};
  if (named && *named > 0)
    width = static_cast<std::size_t>(*named);
  else if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
           size.ws_col > 0)
    width = size.ws_col;
  return std::clamp(width, narrowest, widest);
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  // of what comes next; the first line begins after its indentation
  std::size_t column = indent;
  bool begins_line = true;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\n') {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      begins_line = true;
      ++i;
      continue;
    }
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", i), text.size());
    const std::string_view word = text.substr(i, end - i);
    if (!begins_line && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      begins_line = true;
    }
    if (!begins_line) out += ' ', ++column;
    out += word;
    column += word.size();
    begins_line = false;
    i = end;
  }
  return out;
}

std::string help_entry(const std::string& name, const std::string& about, std::size_t width) {
  std::string out = "  " + name;
  if (about.empty()) return out + "\n";
  if (out.size() + 2 > about_column)
    out += '\n' + std::string(about_column, ' ');
  else
    out.resize(about_column, ' ');
  return out + wrapped(about, about_column, width) + "\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string) const {
  std::string names = app->get_name();
  for (const CLI::App* parent = app->get_parent(); parent; parent = parent->get_parent())
    names = parent->get_name() + " " + names;
  const auto usage = usage_.find(app);
  std::string forms = usage == usage_.end() ? "COMMAND" : usage->second, out;
  for (std::size_t begin = 0; begin <= forms.size();) {
    const std::size_t end = std::min(forms.find('\n', begin), forms.size());
    const std::string start = (begin == 0 ? "usage: " : "       ") + names + " ";
    out += start +
           wrapped(std::string_view(forms).substr(begin, end - begin), start.size(), width_) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0, width_) + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = spaced(make_option_name(option, is_positional));
  // "N:INT in [1 - 65536]" if a range is checked
  const std::string type = option->get_type_name();
  if (!is_positional && !type.empty()) name += " " + type.substr(0, type.find(':'));
  return help_entry(name, option->get_description(), width_);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return help_entry(command->get_name(), command->get_description(), width_);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string own = app->get_footer();
  return (own.empty() ? "" : wrapped(own, 0, width_) + "\n\n") + of_every_command(width_);
}

}  // namespace trainx::app
