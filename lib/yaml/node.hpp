// A document as a tree in which every key and value knows where it stands.
#pragma once
#include "yaml/problems.hpp"

namespace trainx::yaml {

struct Entry;

struct Node {
  // broken: already reported, readers pass over it
  enum class Kind { null, scalar, sequence, map, broken };
  Kind kind = Kind::null;
  Location where;
  std::string text;            // of a scalar, and of null as it was written: "" or "null"
  bool quoted = false;         // a quoted or block scalar: a string whatever it looks like
  bool interpolated = false;   // holds what ${...} stood for
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a map, in the order of the document

  bool is_map() const { return kind == Kind::map; }
  bool is_scalar() const { return kind == Kind::scalar; }
  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;
  Location where;  // of the key
  Node value;
};

/// "a map", "a list", "null" or "a value", for messages.
std::string_view kind_name(const Node& node);

/// Lays `over` onto `base`: maps are merged, everything else is replaced.
void merge(Node& base, const Node& over);

}  // namespace trainx::yaml
