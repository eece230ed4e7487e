#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trainx::app {

/// Names and what they mean, in two columns; or, as JSON, an array of {"name", "summary"}.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows, bool json);

}  // namespace trainx::app
