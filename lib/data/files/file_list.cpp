#include "data/files/file_list.hpp"
#include "core/error.hpp"
#include "data/files/dataset_folder.hpp"
#include <algorithm>
#include <filesystem>
#include <glob.h>
#include <set>

namespace trainx::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  if (code == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (code == GLOB_NOSPACE)
    throw UserError(ExitCode::out_of_memory,
                    "the files that match " + pattern +
                        " do not fit into memory: name a folder of fewer files");
  std::ranges::sort(paths);  // byte by byte, whatever the locale
  return paths;
}

/// The same for a file however it is spelled, and for links to it.
std::string identity(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

std::vector<std::string> expand_one(const std::string& name, Split split) {
  std::error_code error;
  if (fs::is_directory(name, error))
    if (auto files = files_of_split(name, split == Split::eval); !files.empty()) return files;
  if (name.find_first_of("*?[") == std::string::npos || fs::exists(name, error)) return {name};
  auto paths = matches_of(name);
  if (paths.empty())
    throw UserError(ExitCode::input_missing,
                    "no file matches " + name + ": correct the pattern, or make the files first");
  return paths;
}

}  // namespace

std::vector<std::string> expand(const options::FileList& files, Split split) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& name : files.names) {
    for (std::string& path : expand_one(name, split)) {
      if (files.names.size() > 1 && !seen.insert(identity(path)).second)
        throw UserError(ExitCode::invalid_recipe,
                        "data: " + path +
                            " is named twice in one list of files; to train on it more often, use "
                            "data.type: mixture with weights");
      out.push_back(std::move(path));
    }
  }
  return out;
}

void check_files(const options::DataOptions& options) {
  std::set<std::string> trained_on, split;  // split: partly held out
  std::vector<std::string> held_out;
  options::for_each_source(options, [&](const auto& source) {
    if constexpr (requires { source.train; }) {
      for (const std::string& path : expand(source.train)) {
        const std::string id = identity(path);
        const bool another = !trained_on.insert(id).second;
        if (source.held_out ? another || !split.insert(id).second : split.contains(id))
          throw UserError(ExitCode::invalid_recipe,
                          "data.held_out: " + path +
                              " belongs to two sources, so that the one would train on what the "
                              "other holds out; use data.eval");
      }
      if (!source.eval) return;
      for (std::string& path : expand(*source.eval, Split::eval))
        held_out.push_back(std::move(path));
    }
  });
  for (const std::string& path : held_out)
    if (trained_on.contains(identity(path)))
      throw UserError(ExitCode::invalid_recipe, "data.eval: " + path +
                                                    " is among the files of data.train; held-out "
                                                    "data must differ from what is trained on");
}

}  // namespace trainx::data
