#include "checkpoint/verify.hpp"
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json_text.hpp"
#include <filesystem>

namespace trainx::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Files of a folder that a reader looks for by name. Others may be put beside them.
bool is_read(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") ||
         name == "config.json" || name == "trainer_state.json" || name == adapter_config_name;
}

std::string problem_of_manifest(const std::string& folder, const Manifest& manifest,
                                const std::string& text) {
  if (to_json(manifest) != text)
    return std::string(manifest_name) + " is damaged: it is not as trainx wrote it";
  if (!manifest.files.contains(single_weights_name) &&
      !manifest.files.contains(weights_index_name) &&
      !manifest.files.contains(adapter_weights_name))
    return std::string(manifest_name) + " is damaged: it names no weights";
  std::error_code error;
  const auto named = step_of(fs::canonical(folder, error).filename().string());
  if (named && *named != manifest.step)
    return std::string(manifest_name) + " is of step " + std::to_string(manifest.step);
  for (const auto& entry : fs::directory_iterator(folder))
    if (const std::string name = entry.path().filename().string();
        is_read(name) && !manifest.files.contains(name))
      return name + " is not in " + manifest_name;
  return {};
}

}  // namespace

std::string problem_of_folder(const std::string& folder) {
  try {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return "there is no folder " + folder;
    const std::string path = folder + "/" + manifest_name;
    if (!fs::exists(path, error)) return std::string(manifest_name) + " is missing";
    const std::string text = read_json_text(path, most_index_bytes);
    const Manifest manifest = parse_manifest(text, manifest_name);
    if (std::string problem = problem_of_manifest(folder, manifest, text); !problem.empty())
      return problem;
    for (const auto& [name, file] : manifest.files) {
      const auto bytes = fs::file_size(folder + "/" + name, error);
      if (error) return name + ": " + errno_words(error.value());
      if (static_cast<std::int64_t>(bytes) != file.bytes)
        return name + " has " + std::to_string(bytes) + " bytes instead of " +
               std::to_string(file.bytes);
    }
    for (const auto& [name, file] : manifest.files)
      if (const std::string hash = hash_file_hex(folder + "/" + name); hash != file.hash)
        return name + " is damaged: its XXH3 hash is " + hash + ", the manifest says " + file.hash;
    return {};
  } catch (const UserError& e) { return e.what(); }
}

void require_sound(const std::string& folder) {
  std::error_code unknown;
  if (!fs::exists(fs::symlink_status(folder + "/" + manifest_name, unknown))) return;
  if (const std::string problem = problem_of_folder(folder); !problem.empty())
    throw UserError(ExitCode::bad_data,
                    folder + " is damaged: " + problem +
                        "; copy it again, or remove its manifest.json to read it as it is");
}

}  // namespace trainx::checkpoint
