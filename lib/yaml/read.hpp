// Strict reading of one YAML document, from yaml-cpp's events.
#pragma once
#include "yaml/node.hpp"

namespace trainx::yaml {

constexpr std::size_t largest_document = 1 << 20;    // bytes
constexpr std::size_t largest_expansion = 64 << 10;  // bytes and nodes that aliases add
constexpr std::size_t deepest_nesting = 64;

struct Document {
  Node root;
  // false: a syntax error ended the reading, the tree holds what stands before it
  bool complete = true;
};

/// Reads the one document in `text`; `file` stands in locations. Reported with their place: bytes
/// that are no UTF-8, NUL, a byte order mark, tabs in indentation, quotes that are not closed, a
/// second document, duplicate keys, keys that are no words, tags, merge keys, aliases that contain
/// themselves or expand beyond `largest_expansion`, nesting beyond `deepest_nesting`. Never throws
/// on any bytes.
Document read_document(const std::string& text, const std::string& file, Problems& problems);

}  // namespace trainx::yaml
