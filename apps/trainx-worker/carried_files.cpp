#include "carried_files.hpp"
#include "checkpoint/carried_files.hpp"
#include "core/error.hpp"
#include "data/files/about_file.hpp"
#include "data/files/file_list.hpp"
#include "tokenizer/tokenizer.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>
#include <optional>
#include <set>

namespace trainx::worker {
namespace {

struct DataTokenizer {
  std::string data;  // the file that says so
  data::AboutFile about;
};

/// The tokenizer of all training data; nothing where a source does not say, or two differ.
std::optional<DataTokenizer> tokenizer_of(const options::DataOptions& data) {
  std::optional<DataTokenizer> found;
  bool agree = true;
  options::for_each_source(data, [&](const auto& source) {
    if constexpr (requires { source.train; }) {
      for (const std::string& file : data::expand(source.train)) {
        DataTokenizer one{file, data::read_about(file)};
        agree = agree && !one.about.tokenizer.empty() &&
                (!found || found->about.tokenizer == one.about.tokenizer);
        found = std::move(one);
      }
    } else {
      agree = false;
    }
  });
  return agree ? found : std::nullopt;
}

/// In a folder with another config.json the tokenizer must be of the class that it was.
void name_class(const std::string& tokenizer, std::map<std::string, std::string>& files) {
  const char* settings = "tokenizer_config.json";
  std::string name;
  try {
    name = tokenizer::class_to_name(tokenizer);
  } catch (const UserError&) {  // of a class that trainx does not build
  }
  auto json = nlohmann::ordered_json::parse(
      files.contains(settings) ? files.at(settings) : std::string("{}"), nullptr, false);
  if (!json.is_object() || name.empty()) return;
  const auto written = json.find("tokenizer_class");
  if (written != json.end() && written->is_string() &&
      (*written == name || *written == name + "Fast"))
    return;
  json["tokenizer_class"] = name;
  files[settings] = json.dump(2) + "\n";
}

/// The chat template that all training data were written by, if one was named for them. `console`
/// is told where data differ.
std::string named_template(const options::DataOptions& data, metrics::Console* console) {
  std::set<std::string> templates;
  options::for_each_source(data, [&](const auto& source) {
    if constexpr (requires { source.train; })
      for (const std::string& file : data::expand(source.train))
        templates.insert(data::read_about(file).chat_template);
  });
  if (templates.size() == 1) return *templates.begin();
  if (templates.size() > 1 && console)
    console->warning(
        "the training data were made with several chat templates: checkpoints keep the "
        "tokenizer's own");
  return "";
}

std::map<std::string, std::string> files_of_beginning(const std::string& began_from,
                                                      const plan::RunPlan& plan,
                                                      metrics::Console* console) {
  auto files = began_from.empty() ? std::map<std::string, std::string>()
                                  : checkpoint::read_carried_files(began_from);
  if (!began_from.empty() && tokenizer::has_tokenizer(began_from)) return files;
  const auto made_with = tokenizer_of(plan.recipe.data.source);
  if (!made_with) return files;
  const auto& [data, about] = *made_with;
  const auto leave_out = [&](const std::string& why) {
    if (console)
      console->warning(data + " was made with " + about.tokenizer + ", " + why +
                       ": checkpoints are written without a tokenizer");
    return files;
  };
  if (!std::filesystem::is_regular_file(about.tokenizer)) return leave_out("which is not there");
  auto more = checkpoint::read_tokenizer_files(about.tokenizer);
  name_class(about.tokenizer, more);
  files.merge(more);
  return files;
}

}  // namespace

std::map<std::string, std::string> carried_files(const std::string& began_from,
                                                 const plan::RunPlan& plan,
                                                 metrics::Console* console) {
  auto files = files_of_beginning(began_from, plan, console);
  const std::string text = named_template(plan.recipe.data.source, console);
  if (!text.empty()) files["chat_template.jinja"] = text;
  return files;
}

std::string tokenizer_beside(const std::string& began_from, const plan::RunPlan& plan) {
  if (!began_from.empty() && tokenizer::has_tokenizer(began_from)) return began_from;
  const auto made_with = tokenizer_of(plan.recipe.data.source);
  return made_with && std::filesystem::is_regular_file(made_with->about.tokenizer)
             ? made_with->about.tokenizer
             : "";
}

}  // namespace trainx::worker
