#include "imports/unmapped.hpp"
#include <algorithm>

namespace trainx::imports {
namespace {

bool fits(std::string_view pattern, std::string_view key) {
  if (!pattern.ends_with('*')) return pattern == key;
  return key.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// "enabled: false" of a section switches all of it off.
bool is_off(const yaml::Node& node) {
  const yaml::Entry* enabled = node.is_map() ? node.find("enabled") : nullptr;
  return enabled && is_default(enabled->value, "false");
}

bool has_keys_of(std::span<const Unmapped> table, const std::string& section) {
  return std::ranges::any_of(table,
                             [&](const Unmapped& u) { return u.key.starts_with(section + "."); });
}

}  // namespace

const Unmapped* find_unmapped(std::span<const Unmapped> table, std::string_view key) {
  const auto found =
      std::ranges::find_if(table, [&](const Unmapped& u) { return fits(u.key, key); });
  return found == table.end() ? nullptr : &*found;
}

void leave_rest(Settings& settings, std::span<const Unmapped> table, std::string_view tool,
                std::string_view within) {
  std::vector<const yaml::Entry*> rest;
  settings.for_each_rest([&](const yaml::Entry& entry) { rest.push_back(&entry); });
  for (const yaml::Entry* entry : rest) {
    std::string path = settings.path(entry->key);
    if (!within.empty()) path.erase(0, within.size() + 1);
    if (const Unmapped* known = find_unmapped(table, path)) {
      const bool needs_no_line = is_default(entry->value, known->defaults) || is_off(entry->value);
      if (!needs_no_line) settings.leave(entry->key, std::string(known->why), known->differs);
    } else if (has_keys_of(table, path) && is_default(entry->value, "")) {
      continue;
    } else if (has_keys_of(table, path) && entry->value.is_map()) {
      Settings inner = settings.section(entry->key);
      leave_rest(inner, table, tool, within);
    } else {
      settings.leave(entry->key, "is no setting of " + std::string(tool) + " that trainx knows");
    }
  }
}

}  // namespace trainx::imports
