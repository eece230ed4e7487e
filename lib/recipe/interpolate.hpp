// ${env:NAME}, ${env:NAME:-default}, ${recipe_dir} and ${a.b} in values. `$${` stands for a literal
// `${`.
#pragma once
#include "yaml/node.hpp"
#include <functional>
#include <optional>

namespace trainx::recipe {

struct InterpolationSources {
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// The folder of the recipe in which `where` stands.
  std::function<std::string(const yaml::Location& where)> recipe_dir;
  /// The text of a key that the recipe does not give: its default. Nothing for an unknown key.
  std::function<std::optional<std::string>(const std::string& key)> default_text;
  /// Known ones, for suggestions.
  std::function<std::vector<std::string>()> keys;
};

/// Is there anything to interpolate in a value?
bool has_interpolation(const yaml::Node& root);

/// Replaces the interpolations of every value in place, except under `x-` keys (those are replaced
/// where they are referred to). Unknown names, cycles and results beyond 64 KiB are reported; their
/// values become `broken`.
void interpolate(yaml::Node& root, const InterpolationSources& sources, yaml::Problems& problems);

/// The same for a single text in which ${a.b} is not available (`extends`).
std::optional<std::string> interpolate_text(const std::string& text, const yaml::Location& where,
                                            const std::string& key,
                                            const InterpolationSources& sources,
                                            yaml::Problems& problems);

}  // namespace trainx::recipe
