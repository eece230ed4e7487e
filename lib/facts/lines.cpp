#include "facts/lines.hpp"

namespace trainx::facts {

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string counted(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

void add_unread(Lines& lines, const Unread& unread) {
  for (const auto& [field, reason] : unread) lines.push_back("not read: " + field + ": " + reason);
}

}  // namespace trainx::facts
