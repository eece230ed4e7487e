#include "recipe/rule_set.hpp"
#include <algorithm>

namespace trainx::recipe {

void RuleSet::refuse(bool broken, const std::string& key, const std::vector<std::string>& also,
                     const std::string& sentence) {
  if (!broken || is_bad(key) ||
      std::any_of(also.begin(), also.end(), [&](const std::string& k) { return is_bad(k); }))
    return;
  problems_.add(where(key), key, sentence);
}

void RuleSet::refuse_percent(const std::string& key, const Duration& duration) {
  refuse(
      duration.unit == Duration::Unit::percent, key, {},
      "cannot be a percentage (" + to_string(duration) + "): give steps, epochs, tokens or a time");
}

bool RuleSet::is_bad(std::string key) const {
  for (;;) {
    if (reading_.bad.contains(key)) return true;
    const std::size_t outer = key.find_last_of(".[");
    if (outer == std::string::npos) return false;
    key.resize(outer);
  }
}

yaml::Location RuleSet::where(std::string key) const {
  for (;;) {
    if (const auto found = reading_.where.find(key); found != reading_.where.end())
      return found->second;
    const std::size_t outer = key.find_last_of(".[");
    key.resize(outer == std::string::npos ? 0 : outer);
  }
}

}  // namespace trainx::recipe
