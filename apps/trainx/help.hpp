// What --help prints: usage, arguments and options in two columns, wrapped to the terminal's width.
#pragma once
#include <CLI/CLI.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::app {

/// Columns of the help: COLUMNS, else those of the terminal on stdout, else 80; at least 40 and at
/// most 100.
std::size_t help_width();

/// Words of `text` in lines of at most `width` columns, each but the first after `indent` blanks.
/// Line breaks in `text` stay. A word longer than a line stands alone.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

/// `name` at the margin, `about` beside it, or below it if the name is long.
std::string help_entry(const std::string& name, const std::string& about, std::size_t width);

class HelpFormatter : public CLI::Formatter {
 public:
  /// usage: what follows each command's name. Forms of usage are separated by a line break.
  HelpFormatter(const std::map<const CLI::App*, std::string>& usage, std::size_t width)
      : usage_(usage), width_(width) {}

  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  const std::map<const CLI::App*, std::string>& usage_;
  std::size_t width_;
};

}  // namespace trainx::app
