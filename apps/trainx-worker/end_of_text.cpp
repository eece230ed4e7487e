#include "end_of_text.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "data/files/about_file.hpp"
#include "data/files/file_list.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <filesystem>
#include <set>

namespace trainx::worker {

std::vector<std::int32_t> end_of_text_of(const std::string& folder, std::int64_t vocab_size) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::string path = folder + "/" + name;
    if (!std::filesystem::is_regular_file(path)) continue;
    const auto config = nlohmann::json::parse(read_json_text(path), nullptr, false);
    const auto found = config.is_object() ? config.find("eos_token_id") : config.end();
    if (!config.is_object() || found == config.end() || found->is_null()) continue;
    std::vector<std::int32_t> ids;
    for (const auto& id : found->is_array() ? *found : nlohmann::json::array({*found}))
      if (id.is_number_integer() && id.get<std::int64_t>() >= 0 &&
          id.get<std::int64_t>() < vocab_size)
        ids.push_back(id.get<std::int32_t>());
    return ids;
  }
  return {};
}

ForcedTokens forced_tokens_of(const std::string& folder, std::int64_t vocab_size) {
  std::string path = folder + "/generation_config.json";
  if (!std::filesystem::is_regular_file(path)) path = folder + "/config.json";
  const auto config = nlohmann::json::parse(read_json_text(path), nullptr, false);
  const auto ids_of = [&](const char* key) {
    std::vector<std::int32_t> ids;
    const auto found = config.is_object() ? config.find(key) : config.end();
    if (!config.is_object() || found == config.end() || found->is_null()) return ids;
    for (const auto& id : found->is_array() ? *found : nlohmann::json::array({*found})) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0 ||
          id.get<std::int64_t>() >= vocab_size)
        throw UserError(ExitCode::bad_data, path + ": " + key +
                                                " must be an id below vocab_size (" +
                                                std::to_string(vocab_size) + ")");
      ids.push_back(id.get<std::int32_t>());
    }
    return ids;
  };
  // the first BART's files say so instead, with the id under another key
  const bool older = config.is_object() && config.contains("force_bos_token_to_be_generated") &&
                     config["force_bos_token_to_be_generated"] == true;
  return {ids_of(older ? "bos_token_id" : "forced_bos_token_id"), ids_of("forced_eos_token_id")};
}

std::map<std::string, std::string> with_end_of_text(std::map<std::string, std::string> files,
                                                    const options::DataOptions& options,
                                                    const architectures::ModelDims& dims) {
  if (architectures::task(dims) != architectures::Task::causal_lm ||
      files.contains("generation_config.json"))
    return files;
  std::set<std::optional<std::int32_t>> ends;
  const auto look = [&](const std::string& file) {
    ends.insert(data::read_about(file).end_of_text);
  };
  options::for_each_source(options, [&](const auto& source) {
    if constexpr (requires { source.train; })
      std::ranges::for_each(data::expand(source.train), look);
    else
      ends.insert(std::nullopt);
  });
  if (ends.size() != 1 || !*ends.begin() || **ends.begin() >= architectures::vocab_size(dims))
    return files;
  files["generation_config.json"] =
      nlohmann::ordered_json{{"eos_token_id", **ends.begin()}}.dump(2) + "\n";
  return files;
}

}  // namespace trainx::worker
