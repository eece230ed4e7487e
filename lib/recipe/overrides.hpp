// key=value settings from outside the recipe's files: the command line and TRAINX_SET.
#pragma once
#include "yaml/node.hpp"

namespace trainx::recipe {

/// TRAINX_SET as its settings: separated by newlines, or by blanks before the next `key=`; quotes
/// and brackets keep together.
std::vector<std::string> split_settings(const std::string& text);

/// The tree that the settings amount to, later ones over earlier ones; `source` stands in
/// locations. Values are YAML scalars, [lists] or {maps}; short forms are expanded.
yaml::Node read_settings(const std::vector<std::string>& settings, const std::string& source,
                         yaml::Problems& problems);

}  // namespace trainx::recipe
