#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/hub_cache.hpp"
#include "core/json_text.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>

namespace trainx {

namespace fs = std::filesystem;

namespace {

bool is_there_at(const fs::path& path) {
  std::error_code error;  // a name may be too long
  return fs::exists(path, error);
}

}  // namespace

bool is_adapter_folder(const std::string& folder) {
  return is_there_at(fs::path(folder) / "adapter_config.json");
}

std::string model_folder_of(const std::string& folder) {
  if (!is_adapter_folder(folder)) return folder;
  const std::string file = folder + "/adapter_config.json", key = "base_model_name_or_path";
  const auto json = nlohmann::json::parse(read_json_text(file), nullptr, false);
  if (!json.is_object() || !json.contains(key) || !json.at(key).is_string() ||
      json.at(key).get<std::string>().empty())
    throw UserError(ExitCode::bad_data,
                    file + " names no " + key + ": write the folder of the model that it adapts");
  const auto base = json.at(key).get<std::string>();
  for (const fs::path& at : {fs::path(base), fs::path(folder) / base})
    if (is_there_at(at / "config.json")) return at.string();
  if (const auto snapshot = find_in_hub_cache(base)) return snapshot->folder;
  throw UserError(ExitCode::input_missing, missing_folder(base, key + " of " + file));
}

}  // namespace trainx
