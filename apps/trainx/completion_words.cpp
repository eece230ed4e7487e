#include "completion_words.hpp"
#include "recipe/schema.hpp"
#include "recipe/short_forms.hpp"
#include "scan.hpp"
#include <algorithm>

namespace trainx::app {
namespace {

/// Of a type's name: what is written small is a word, FILE and its like are what they say, N and
/// its like are nothing that could be offered.
Takes read_type(const std::string& text) {
  Takes takes;
  // CLI11 puts what it checks behind
  const std::string type = text.substr(0, text.find_first_of(": "));
  for (std::size_t start = 0; start <= type.size();) {
    const std::size_t end = std::min(type.find('|', start), type.size());
    const std::string word = type.substr(start, end - start);
    start = end + 1;
    if (word == "CONFIG")
      takes.recipe = true;
    else if (word == "RUN" || word == "CHECKPOINT")
      takes.run = true;
    else if (word == "FILE" || word == "PATH" || word == "INPUT")
      takes.file = true;
    else if (word == "FOLDER")
      takes.folder = true;
    else if (!word.empty() &&
             std::ranges::none_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == ','; }))
      takes.words.push_back(word);
  }
  return takes;
}

void add(Takes& to, const Takes& more) {
  to.words.insert(to.words.end(), more.words.begin(), more.words.end());
  to.recipe |= more.recipe;
  to.settings |= more.settings;
  to.run |= more.run;
  to.file |= more.file;
  to.folder |= more.folder;
}

void add_command(const CLI::App& app, const std::string& name,
                 std::vector<CompletedCommand>& commands) {
  CompletedCommand command{name, app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (option->get_positional()) {
      Takes takes = read_type(type.empty() || type.starts_with("TEXT") ? option->get_name() : type);
      takes.settings = takes.recipe;
      add(command.arguments, takes);
      continue;
    }
    CompletedFlag flag{{}, option->get_description(), option->get_items_expected_max() > 0, {}};
    for (const std::string& word : option->get_snames()) flag.names.push_back("-" + word);
    for (const std::string& word : option->get_lnames()) flag.names.push_back("--" + word);
    if (flag.takes_value) flag.value = read_type(type);
    command.flags.push_back(std::move(flag));
  }
  const auto subcommands = app.get_subcommands({});
  for (const CLI::App* sub : subcommands) command.subcommands.push_back(sub->get_name());
  commands.push_back(std::move(command));
  for (const CLI::App* sub : subcommands)
    add_command(*sub, (name.empty() ? "" : name + " ") + sub->get_name(), commands);
}

/// What a shell and readline leave as it is: a described model may have named anything.
bool is_plain(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.+").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& app) {
  std::vector<CompletedCommand> commands;
  add_command(app, "", commands);
  for (const GlobalFlag& global : global_flags()) {
    CompletedFlag flag{{global.name}, global.about, !global.takes.empty(), read_type(global.takes)};
    if (!global.short_name.empty()) flag.names.insert(flag.names.begin(), global.short_name);
    commands.front().flags.push_back(std::move(flag));
  }
  return commands;
}

std::vector<CompletedKey> completed_keys() {
  std::vector<CompletedKey> keys;
  const auto add_key = [&](const std::string& name, const std::string& about,
                           const std::vector<std::string>& words) {
    const auto known = std::ranges::find(keys, name, &CompletedKey::key);
    // several types may have it
    CompletedKey& key = known == keys.end() ? keys.emplace_back(CompletedKey{name, about, {}})
                                            : *known;
    for (const std::string& word : words)
      if (is_plain(word) && std::ranges::find(key.words, word) == key.words.end())
        key.words.push_back(word);
  };
  for (const recipe::FieldHelp& field : recipe::schema_keys()) {
    // of a list's maps: key=value sets lists whole
    if (field.key.find('[') != std::string::npos) continue;
    for (const recipe::ShortForm& form : recipe::short_forms())
      if (field.key == std::string(form.section) + "." + std::string(form.key))
        add_key(std::string(form.section), field.doc, field.words);
    if (is_plain(field.key)) add_key(field.key, field.doc, field.words);
  }
  for (const recipe::ShortWord& short_word : recipe::short_words())
    add_key(std::string(short_word.section), "", {std::string(short_word.word)});
  return keys;
}

}  // namespace trainx::app
