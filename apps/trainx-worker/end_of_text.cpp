#include "end_of_text.hpp"
#include "core/files.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>

namespace trainx::worker {

std::vector<std::int32_t> end_of_text_of(const std::string& folder, std::int64_t vocab_size) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::string path = folder + "/" + name;
    if (!std::filesystem::is_regular_file(path)) continue;
    const auto config = nlohmann::json::parse(read_file(path), nullptr, false);
    const auto found = config.is_object() ? config.find("eos_token_id") : config.end();
    if (!config.is_object() || found == config.end() || found->is_null()) continue;
    std::vector<std::int32_t> ids;
    for (const auto& id : found->is_array() ? *found : nlohmann::json::array({*found}))
      if (id.is_number_integer() && id.get<std::int64_t>() >= 0 && id.get<std::int64_t>() < vocab_size) ids.push_back(id.get<std::int32_t>());
    return ids;
  }
  return {};
}

}  // namespace trainx::worker
