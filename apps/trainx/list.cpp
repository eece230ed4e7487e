#include "commands.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "recipe/schema.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <memory>

namespace trainx::app {
namespace {

std::string section_of(const std::string& what) {
  return what == "optimizers"  ? "optimizer."
         : what == "models"    ? "model."
         : what == "schedules" ? "schedule."
                               : "data.";
}

/// The options of one alternative and their defaults, by the key below the section.
std::vector<std::pair<std::string, std::string>> options_of(const std::string& section,
                                                            const std::string& name) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const recipe::FieldHelp& field : recipe::schema_keys())
    if (field.of_type == name && field.key.starts_with(section) &&
        field.key.find("[]") == std::string::npos)
      out.emplace_back(field.key.substr(section.size()), field.default_text);
  return out;
}

nlohmann::ordered_json to_json(const std::string& section,
                               const std::pair<std::string, std::string>& row) {
  auto options = nlohmann::ordered_json::object();
  for (const auto& [key, value] : options_of(section, row.first))
    options[key] = value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  return {{"name", row.first}, {"summary", row.second}, {"options", options}};
}

constexpr std::size_t columns = 80;

std::string to_text(const std::string& section, const std::pair<std::string, std::string>& row) {
  std::string text = row.first + ": " + row.second, line = " ";
  for (const auto& [key, value] : options_of(section, row.first)) {
    const std::string word = " " + key + (value.empty() ? " (required)" : " " + value) + ",";
    if (line.size() + word.size() > columns && line != " ") {
      text += "\n" + line;
      line = " ";
    }
    line += word;
  }
  if (line != " ") text += "\n" + line.substr(0, line.size() - 1);
  return text + "\n";
}

using Rows = std::vector<std::pair<std::string, std::string>>;

/// The row of a name alone.
Rows row_of(const Rows& rows, const std::string& what, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.first == name) return {row};
    names.push_back(row.first);
  }
  throw UserError(ExitCode::usage, "list: " + what + " has no '" + name + "'" +
                                       did_you_mean(name, names) + ": `trainx list " + what +
                                       "` has all names");
}

/// One line for each; there are too many models for their options.
std::string names_to_text(const Rows& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string text;
  for (const auto& [name, summary] : rows)
    text += name + std::string(width - name.size() + 2, ' ') + summary + "\n";
  return text + "`trainx list models NAME` has the options of one.\n";
}

int run_list(const std::string& what, const std::string& name, const Context& context) {
  static const std::vector<std::string> known{"optimizers", "models", "data", "schedules"};
  Rows rows = recipe::list_alternatives(what);
  if (rows.empty())
    throw UserError(ExitCode::usage,
                    "list: there are optimizers, models, data and schedules, not '" + what + "'" +
                        did_you_mean(what, known));
  if (!name.empty()) rows = row_of(rows, what, name);
  const std::string section = section_of(what);
  auto json = nlohmann::ordered_json::array();
  std::string text;
  for (const auto& row : rows) {
    json.push_back(to_json(section, row));
    text += to_text(section, row);
  }
  if (what == "models" && name.empty()) text = names_to_text(rows);
  print(context.output.json ? json.dump() : text);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "list", "List optimizers, models, data types or schedules, with their options and defaults.");
  context.usage[command] = "optimizers|models|data|schedules [NAME]";
  const auto what = std::make_shared<std::string>(), name = std::make_shared<std::string>();
  command->add_option("WHAT", *what, "What to list.")
      ->type_name("optimizers|models|data|schedules")
      ->required();
  command->add_option("NAME", *name, "One of them, with its options.");
  command->callback([what, name, &context] {
    context.run = [what, name, &context] { return run_list(*what, *name, context); };
  });
}

}  // namespace trainx::app
