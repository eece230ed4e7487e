#include "recipe/text_file.hpp"
#include "core/suggest.hpp"
#include "yaml/read.hpp"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trainx::recipe {
namespace {

namespace fs = std::filesystem;

/// " (did you mean 'configs/quickstart.yaml'?)" from the files beside the one that is not there.
std::string near_file(const fs::path& path) {
  std::error_code error;
  std::vector<std::string> names;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".yaml" || it->path().extension() == ".yml")
      names.push_back(it->path().filename().string());
  const auto near = suggest(path.filename().string(), names);
  return near ? " (did you mean '" + (path.parent_path() / *near).string() + "'?)" : "";
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path, std::string& problem) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::directory) {
    problem = "is a folder, not a recipe";
    return std::nullopt;
  }
  if (status.type() == fs::file_type::not_found) {
    problem = "does not exist" + near_file(path);
    return std::nullopt;
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    problem = "is no regular file; write the recipe into one";
    return std::nullopt;
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(yaml::largest_document + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    problem = "cannot be read: " + std::string(std::strerror(errno ? errno : EIO));
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace trainx::recipe
