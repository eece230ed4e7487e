#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/hub_cache.hpp"
#include "core/json_text.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>

namespace trainx {

namespace fs = std::filesystem;

namespace {

constexpr const char* key = "base_model_name_or_path";

bool is_there_at(const fs::path& path) {
  std::error_code error;  // a name may be too long
  return fs::exists(path, error);
}

std::string config_of(const std::string& folder) { return folder + "/adapter_config.json"; }

/// "": it names none.
std::string base_of(const std::string& folder) {
  const auto json = nlohmann::json::parse(read_json_text(config_of(folder)), nullptr, false);
  const bool names = json.is_object() && json.contains(key) && json.at(key).is_string();
  return names ? json.at(key).get<std::string>() : "";
}

}  // namespace

bool is_adapter_folder(const std::string& folder) {
  return is_there_at(fs::path(folder) / "adapter_config.json");
}

bool adapts_new_weights(const std::string& folder) {
  return is_adapter_folder(folder) && base_of(folder).empty();
}

std::string model_folder_of(const std::string& folder) {
  if (!is_adapter_folder(folder)) return folder;
  const std::string base = base_of(folder);
  if (base.empty())
    throw UserError(ExitCode::bad_data,
                    config_of(folder) + " names no " + key +
                        ": write the folder of the model that it adapts; weights that its run drew "
                        "are in none, so train an adapter with model.init_from");
  for (const fs::path& at : {fs::path(base), fs::path(folder) / base})
    if (is_there_at(at / "config.json")) return at.string();
  if (const auto snapshot = find_in_hub_cache(base)) return snapshot->folder;
  throw UserError(ExitCode::input_missing,
                  missing_folder(base, std::string(key) + " of " + config_of(folder)));
}

}  // namespace trainx
