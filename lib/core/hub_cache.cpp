#include "core/hub_cache.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

namespace trainx {
namespace {

namespace fs = std::filesystem;

bool is_name(const std::string& text) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  const bool edges = !text.empty() && text.front() != '.' && text.front() != '-' &&
                     text.back() != '.' && text.back() != '-';
  return edges && text.size() <= 96 && text.find("..") == std::string::npos &&
         text.find("--") == std::string::npos && std::ranges::all_of(text, allowed);
}

/// refs/main, a line with a hash; empty if there is none.
std::string main_revision(const fs::path& model) {
  std::error_code error;
  const fs::path file = model / "refs" / "main";
  if (!fs::is_regular_file(file, error)) return "";
  std::string text = read_file(file.string(), 4096);
  text.erase(text.find_last_not_of(" \r\n\t") + 1);
  return text.find('/') == std::string::npos ? text : "";
}

}  // namespace

bool is_hub_id(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return is_name(text);
  return is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

std::string hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const std::string folder = environment_variable(name); !folder.empty()) return folder;
  if (const std::string home = environment_variable("HF_HOME"); !home.empty()) return home + "/hub";
  if (const std::string cache = environment_variable("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/huggingface/hub";
  return environment_variable("HOME") + "/.cache/huggingface/hub";
}

std::optional<HubSnapshot> find_in_hub_cache(const std::string& id) {
  if (!is_hub_id(id)) return std::nullopt;
  std::string name = id;
  if (const std::size_t slash = name.find('/'); slash != std::string::npos)
    name.replace(slash, 1, "--");
  const fs::path model = fs::path(hub_cache_folder()) / ("models--" + name);
  std::error_code error;
  std::string revision = main_revision(model);
  if (revision.empty()) {
    std::vector<std::string> revisions;
    for (const auto& entry : fs::directory_iterator(model / "snapshots", error))
      revisions.push_back(entry.path().filename().string());
    if (revisions.size() == 1) revision = revisions.front();
  }
  const fs::path folder = model / "snapshots" / revision;
  if (revision.empty() || !fs::is_directory(folder, error)) return std::nullopt;
  return HubSnapshot{id, revision, folder.string()};
}

std::optional<HubSnapshot> hub_snapshot_of(const std::string& folder) {
  const fs::path path(folder);
  const std::string model = path.parent_path().parent_path().filename().string();
  constexpr std::string_view prefix = "models--";
  if (path.parent_path().filename() != "snapshots" || !model.starts_with(prefix))
    return std::nullopt;
  std::string id = model.substr(prefix.size());
  if (const std::size_t dashes = id.find("--"); dashes != std::string::npos)
    id.replace(dashes, 2, "/");
  return HubSnapshot{id, path.filename().string(), folder};
}

std::string describe(const HubSnapshot& snapshot) {
  return snapshot.id + ", revision " + snapshot.revision.substr(0, 12) +
         ", of the Hugging Face cache";
}

std::string missing_folder(const std::string& name, const std::string& key) {
  if (!is_hub_id(name)) return key + ": there is no folder " + name;
  const std::string local =
      name.substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1);
  return key + ": there is no folder " + name + ", and no such model in the Hugging Face cache (" +
         hub_cache_folder() + "). trainx downloads nothing: run `hf download " + name +
         " --local-dir " + local + "`, then name the folder " + local;
}

}  // namespace trainx
