// Other tools' files as located trees.
#pragma once
#include "yaml/node.hpp"

namespace trainx::imports {

/// A map as JSON (by its '{') or YAML. In JSON every value stands where its key does; strings are
/// quoted scalars, numbers, true and false plain ones. Throws UserError 65, one sentence with file,
/// line and column: larger than yaml::largest_document, deeper than yaml::deepest_nesting, not
/// UTF-8, malformed, a key twice, no map.
yaml::Node read_document(const std::string& text, const std::string& file);

}  // namespace trainx::imports
