#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trainx::recipe {

/// Where a walker stands in a recipe: data, data.sources, data.sources[0].
class KeyPath {
 public:
  void push(std::string_view key) { paths_.push_back(child(key)); }
  void push_item(std::size_t index) {
    paths_.push_back(paths_.back() + "[" + std::to_string(index) + "]");
  }
  void pop() { paths_.pop_back(); }
  std::size_t depth() const { return paths_.size(); }
  const std::string& section() const { return paths_.front(); }
  /// Dotted, of a key in what is open.
  std::string child(std::string_view key) const {
    return (paths_.empty() ? "" : paths_.back() + ".") + std::string(key);
  }

 private:
  std::vector<std::string> paths_;
};

}  // namespace trainx::recipe
