#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "imports/import.hpp"
#include "yaml/read.hpp"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

struct ImportArguments {
  std::vector<std::string> files;
  std::string out, model, data, eval_data;
  std::int64_t world = 0, sequence_length = 0;
};

/// At most a byte more than such a file may have.
std::string read_settings_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    throw UserError(ExitCode::input_missing, "import: there is no file " + yaml::excerpt(path));
  if (std::filesystem::is_directory(status))
    throw UserError(ExitCode::usage,
                    "import: " + yaml::excerpt(path) + " is a folder; name the file in it");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(yaml::largest_document + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    throw UserError(
        ExitCode::input_missing,
        "import: " + yaml::excerpt(path) + " cannot be read: " + errno_words(errno ? errno : EIO));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

nlohmann::json as_json(const imports::Imported& imported) {
  nlohmann::json j{{"recipe", imported.recipe},
                   {"not_mapped", nlohmann::json::array()},
                   {"missing", nlohmann::json::array()}};
  for (const imports::Leftover& l : imported.leftovers)
    j["not_mapped"].push_back({{"file", l.where.file},
                               {"line", l.where.line},
                               {"column", l.where.column},
                               {"key", l.key},
                               {"value", l.value},
                               {"why", l.why},
                               {"differs", l.differs}});
  for (const auto& [key, what] : imported.asked)
    j["missing"].push_back({{"key", key}, {"what", what}});
  return j;
}

int run_import(const ImportArguments& a, const Context& context) {
  if (a.files.empty())
    throw UserError(ExitCode::usage,
                    "import: which file? trainx import FILE [FILE ...]; see trainx import --help");
  imports::Choices choices;
  if (a.world > 0) choices.world = a.world;
  if (a.sequence_length > 0) choices.sequence_length = a.sequence_length;
  if (!a.model.empty()) imports::choose_model(choices, a.model);
  if (!a.data.empty()) imports::choose_data(choices, a.data);
  if (!a.eval_data.empty()) {
    if (!choices.train)
      throw UserError(ExitCode::usage, "import: --eval-data goes with --data FILE");
    choices.eval = a.eval_data;
  }
  if (!a.out.empty() && std::filesystem::exists(a.out))
    throw UserError(ExitCode::cannot_create,
                    a.out + " is there already; move it away, or name another file with --out");

  std::vector<imports::SourceFile> files;
  for (const std::string& path : a.files) files.push_back({path, read_settings_file(path)});
  const imports::Imported imported = imports::import_settings(files, choices);
  if (!a.out.empty()) write_file_atomic(a.out, imported.recipe);
  if (context.output.json)
    print(as_json(imported).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else if (a.out.empty())
    print(imported.recipe);
  for (const imports::Leftover& leftover : imported.leftovers)
    say(context, (leftover.differs ? "NOT MAPPED, training differs: " : "not mapped: ") +
                     to_string(leftover));
  for (const auto& [key, what] : imported.asked) say(context, "missing: " + key + ": " + what);
  if (!a.out.empty()) say(context, "wrote " + a.out + "; next: trainx validate " + a.out);
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("import",
                         "Turn another tool's settings into a recipe: TrainingArguments, "
                         "DeepSpeed, Accelerate, Axolotl, torchtune.");
  context.usage[command] = "FILE [FILE ...] [--model FOLDER] [--data FILE] [--out FILE]";
  const auto a = std::make_shared<ImportArguments>();
  command->add_option("FILE", a->files,
                      "Settings: TrainingArguments or DeepSpeed (JSON), Accelerate, Axolotl or "
                      "torchtune (YAML); several are combined.");
  command->add_option("--model", a->model, "Hugging Face folder to start from, or a type of model.")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--data", a->data,
          "File to train on, typed by its ending: .bin, .jsonl, .csv, else text; or stories.")
      ->type_name("FILE");
  command->add_option("--eval-data", a->eval_data, "Held-out file.")->type_name("FILE");
  command->add_option("--sequence-length", a->sequence_length, "Tokens of a sample.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  command
      ->add_option("--world", a->world,
                   "Processes that the files were written for; default: as they say, or 1.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--out", a->out, "File to write the recipe to; default: stdout.")
      ->type_name("FILE");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_import(*a, context); }; });
}

}  // namespace trainx::app
