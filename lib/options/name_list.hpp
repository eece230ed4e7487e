#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trainx::options {

/// Names in order. One of them may be written as text, which is another thing than a list of one
/// where who reads it says so.
struct NameList {
  std::vector<std::string> names;
  bool is_text = false;
  NameList() = default;
  explicit NameList(std::string name) : names{std::move(name)}, is_text(true) {}
  explicit NameList(std::vector<std::string> all) : names(std::move(all)) {}
  bool operator==(const NameList&) const = default;
};

}  // namespace trainx::options
