#include "run_paths.hpp"
#include "metrics/run_files.hpp"
#include <glob.h>
#include <algorithm>
#include <filesystem>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  if (path.find_first_of("*?[") == std::string::npos || fs::exists(path)) return fs::exists(path);
  glob_t found{};
  const bool any = ::glob(path.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  ::globfree(&found);
  return any;
}

struct Finder {
  const std::string& directory;
  std::vector<std::string>& missed;

  void operator()(std::string& path) const {
    if (path.empty() || fs::path(path).is_absolute() || is_there(path)) return;
    const std::string there = (fs::path(directory) / path).lexically_normal().string();
    if (is_there(there))
      path = there;
    else
      missed.push_back(there);
  }
  template <class Files>
  requires requires(Files& files) { files.names; }
  void operator()(Files& files) const {
    for (std::string& name : files.names) (*this)(name);
  }
  template <class Files>
  void operator()(std::optional<Files>& files) const {
    if (files) (*this)(*files);
  }
};

}  // namespace

std::vector<std::string> find_data(recipe::Recipe& recipe, const std::string& run_folder,
                                   const std::vector<std::string>& but) {
  std::vector<std::string> missed;
  const std::string directory = metrics::run_info_text(run_folder + "/run.json", "directory");
  if (directory.empty()) return missed;
  const Finder find{directory, missed};
  const auto wanted = [&](const char* key) { return std::ranges::find(but, key) == but.end(); };
  const auto of_source = [&](auto& source) {
    if constexpr (requires { source.train; })
      if (wanted("data.train")) find(source.train);
    if constexpr (requires { source.eval; })
      if (wanted("data.eval")) find(source.eval);
  };
  std::visit(
      [&](auto& o) {
        if constexpr (requires { o.sources; }) {
          for (auto& entry : o.sources) std::visit(of_source, entry.source);
        } else {
          of_source(o);
        }
      },
      recipe.data.source);
  return missed;
}

}  // namespace trainx::app
