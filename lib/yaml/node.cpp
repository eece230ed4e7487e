#include "yaml/node.hpp"

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
  for (const Entry& entry : over.entries) {
    Entry* there = base.find(entry.key);
    if (!there) {
      base.entries.push_back(entry);
    } else {
      there->where = entry.where;
      merge(there->value, entry.value);
    }
  }
}

}  // namespace trainx::yaml
