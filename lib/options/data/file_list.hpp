#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trainx::options {

/// Files of a data source as a recipe names them: paths and globs (`data/*.bin`), in order. One of
/// them is written as text, several as a list.
struct FileList {
  std::vector<std::string> names;
  FileList() = default;
  FileList(std::string name) : names{std::move(name)} {}
  FileList(const char* name) : names{name} {}
  FileList(std::vector<std::string> all) : names(std::move(all)) {}
  bool empty() const { return names.empty() || (names.size() == 1 && names.front().empty()); }
  bool operator==(const FileList&) const = default;
};

}  // namespace trainx::options
