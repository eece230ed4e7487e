// Scalars as recipes spell them.
#pragma once
#include "yaml/node.hpp"

namespace trainx::yaml {

/// Whether a plain (unquoted) scalar is text to every YAML reader: no null, boolean, number or
/// anything that YAML 1.1 or 1.2 takes for one.
bool reads_as_text(std::string_view plain);

/// Text as a YAML scalar that reads back as the same string: plain where that is safe, else in
/// double quotes.
std::string write_text(const std::string& text);

}  // namespace trainx::yaml
