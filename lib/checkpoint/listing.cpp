#include "checkpoint/listing.hpp"
#include <filesystem>

namespace trainx::checkpoint {
namespace {

namespace fs = std::filesystem;

// A run that goes on may prune what is looked at: what is gone counts as nothing.
std::int64_t bytes_in(const std::string& folder) {
  std::int64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : fs::recursive_directory_iterator(folder, gone))
    if (const auto size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0; !gone)
      bytes += static_cast<std::int64_t>(size);
  return bytes;
}

std::vector<std::string> links_to(const std::string& run, const std::string& checkpoint) {
  std::vector<std::string> names;
  for (const char* name : {"latest", "best"}) {
    std::error_code missing;
    if (fs::read_symlink(fs::path(run) / name, missing).filename() ==
            fs::path(checkpoint).filename() &&
        !missing)
      names.emplace_back(name);
  }
  return names;
}

}  // namespace

std::vector<Listed> listing(const std::string& run_folder) {
  std::vector<Listed> all;
  for (const Found& found : Store(run_folder).list())
    all.push_back({found.step, bytes_in(found.path), found.path, links_to(run_folder, found.path)});
  return all;
}

}  // namespace trainx::checkpoint
