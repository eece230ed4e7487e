#include "imports/interpolate.hpp"
#include <algorithm>
#include <optional>

namespace trainx::imports {
namespace {

constexpr int most_rounds = 8;  // of values that name each other
constexpr std::size_t longest = 1 << 16;

std::optional<std::string> value_at(const yaml::Node& root, std::string_view key) {
  const yaml::Node* node = &root;
  while (!key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const yaml::Entry* entry = node->find(key.substr(0, dot));
    if (!entry) return std::nullopt;
    node = &entry->value;
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return node->is_scalar() ? std::optional(node->text) : std::nullopt;
}

/// Whether anything was replaced.
bool replace(std::string& text, const yaml::Node& root) {
  for (std::size_t begin = text.find("${"); begin != std::string::npos;
       begin = text.find("${", begin + 2)) {
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) return false;
    const auto value = value_at(root, std::string_view(text).substr(begin + 2, end - begin - 2));
    if (!value || text.size() + value->size() > longest) continue;
    text.replace(begin, end + 1 - begin, *value);
    return true;
  }
  return false;
}

bool replace_in(yaml::Node& node, const yaml::Node& root) {
  bool any = node.is_scalar() && replace(node.text, root);
  for (yaml::Node& item : node.items) any = replace_in(item, root) || any;
  for (yaml::Entry& entry : node.entries) any = replace_in(entry.value, root) || any;
  return any;
}

}  // namespace

void interpolate(yaml::Node& root) {
  for (int round = 0; round < most_rounds; ++round)
    if (const yaml::Node before = root; !replace_in(root, before)) return;
}

}  // namespace trainx::imports
