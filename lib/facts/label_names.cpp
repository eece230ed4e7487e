#include "facts/label_names.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "data/files/file_list.hpp"
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::facts {
namespace {

std::vector<std::string> names_beside(const std::string& path) {
  const std::string file = path + ".json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  std::vector<std::string> names;
  if (!json.is_object() || !json.contains("label_names") || !json["label_names"].is_array())
    return names;
  for (const auto& name : json["label_names"])
    if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  return names.size() > most ? text + ", ..." : text.empty() ? "no names" : text;
}

/// Labelled files of a source, trained on and held out.
template <class Source>
std::vector<std::string> labelled_files(const Source& source) {
  std::vector<std::string> paths;
  if constexpr (requires { source.truncate; }) {
    paths = data::expand(source.train);
    if (source.eval)
      for (std::string& path : data::expand(*source.eval, data::Split::eval))
        paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

std::vector<std::string> label_names_of(const options::DataOptions& options) {
  std::vector<std::string> first, paths;
  options::for_each_source(options, [&](const auto& source) {
    for (std::string& path : labelled_files(source)) paths.push_back(std::move(path));
  });
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::vector<std::string> names = names_beside(paths[i]);
    if (i == 0) first = names;
    if (names == first) continue;
    throw UserError(ExitCode::bad_data, paths[i] + ".json names the classes " + listed(names) +
                                            ", and " + paths.front() + ".json " + listed(first) +
                                            ": tokenize it again with --label-names " +
                                            paths.front());
  }
  return first;
}

}  // namespace trainx::facts
