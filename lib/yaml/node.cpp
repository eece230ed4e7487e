#include "yaml/node.hpp"
#include <map>

namespace trainx::yaml {

const Entry* Node::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

Entry* Node::find(std::string_view key) {
  for (Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string_view kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null: return "null";
    case Node::Kind::scalar: return "a value";
    case Node::Kind::sequence: return "a list";
    case Node::Kind::map: return "a map";
    case Node::Kind::broken: return "unreadable";
  }
  return "?";
}

void merge(Node& base, const Node& over) {
  if (!base.is_map() || !over.is_map()) {
    base = over;
    return;
  }
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < base.entries.size(); ++i) index.emplace(base.entries[i].key, i);
  for (const Entry& entry : over.entries) {
    const auto [there, is_new] = index.emplace(entry.key, base.entries.size());
    if (is_new) {
      base.entries.push_back(entry);
    } else {
      base.entries[there->second].where = entry.where;
      merge(base.entries[there->second].value, entry.value);
    }
  }
}

}  // namespace trainx::yaml
