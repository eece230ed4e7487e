#include "data_files.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

using nlohmann::json;

std::string name_of(const data::DataFile& file) {
  return std::filesystem::path(file.path).filename().string();
}
bool same(const data::DataFile& a, const data::DataFile& b) {
  return a.bytes == b.bytes && name_of(a) == name_of(b);
}
std::string shown(const data::DataFile& file) {
  return file.path + " (" + std::to_string(file.bytes) + " bytes)";
}

std::vector<data::DataFile> read(const std::string& path) {
  std::vector<data::DataFile> files;
  try {
    for (const json& file : json::parse(read_file(path)))
      files.push_back({file.at("path").get<std::string>(), file.at("bytes").get<std::int64_t>()});
  } catch (const json::exception& e) {
    throw UserError(ExitCode::bad_data, path + " is damaged: " + e.what());
  }
  return files;
}

}  // namespace

std::string data_files_text(const std::vector<data::DataFile>& files) {
  json all = json::array();
  for (const data::DataFile& file : files)
    all.push_back({{"path", file.path}, {"bytes", file.bytes}});
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

void require_same_files(const std::string& run_folder, const std::string& checkpoint,
                        const std::vector<data::DataFile>& files) {
  const std::string path = checkpoint + "/" + data_files_name;
  if (!std::filesystem::is_regular_file(path)) return;
  const auto before = read(path);
  if (std::ranges::equal(before, files, same)) return;
  constexpr std::size_t most = 8;
  std::string list;
  std::size_t differences = 0;
  const auto tell = [&](const std::vector<data::DataFile>& in,
                        const std::vector<data::DataFile>& but_not_in, const std::string& what) {
    for (const data::DataFile& file : in) {
      if (std::ranges::any_of(but_not_in,
                              [&](const data::DataFile& other) { return same(file, other); }))
        continue;
      if (differences++ < most) list += "\n  " + what + ": " + shown(file);
    }
  };
  tell(before, files, "no longer there");
  tell(files, before, "new");
  if (differences > most) list += "\n  and " + std::to_string(differences - most) + " more";
  if (differences == 0) list = "\n  the same files in another order";
  throw UserError(ExitCode::invalid_recipe,
                  run_folder +
                      ": the files of the training data changed since the run began; give it its "
                      "data back, or train on with `--fork NAME`:" +
                      list);
}

}  // namespace trainx::worker
