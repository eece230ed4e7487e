#include "table.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::app {

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows, bool json) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& [name, summary] : rows)
      out.push_back(nlohmann::ordered_json{{"name", name}, {"summary", summary}});
    return out.dump();
  }
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string out;
  for (const auto& [name, summary] : rows)
    out += name + std::string(width - name.size() + 2, ' ') + summary + "\n";
  return out;
}

}  // namespace trainx::app
