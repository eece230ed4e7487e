#include "plan/explain/report.hpp"
#include <algorithm>
#include <utility>

namespace trainx::plan {

void ReportSection::both(std::string key, nlohmann::json value, std::string text) {
  facts.push_back({std::move(key), std::move(value), std::move(text)});
}
void ReportSection::tell(std::string text) { both("", nullptr, std::move(text)); }
void ReportSection::give(std::string key, nlohmann::json value) {
  both(std::move(key), std::move(value), "");
}

std::string row(const std::string& name, const std::string& value) {
  std::string s = "  " + name;
  s.resize(std::max<std::size_t>(26, s.size() + 1), ' ');
  return s + value + "\n";
}

std::string text_of(const Report& report) {
  std::string out;
  for (const ReportSection& section : report) {
    std::string text;
    for (const Fact& fact : section.facts) text += fact.text;
    if (!text.empty() && !section.heading.empty()) out += section.heading + "\n";
    out += text;
  }
  return out;
}

nlohmann::json json_of(const Report& report) {
  auto out = nlohmann::json::object();
  for (const ReportSection& section : report)
    for (const Fact& fact : section.facts)
      if (!fact.key.empty()) out[nlohmann::json::json_pointer("/" + fact.key)] = fact.value;
  return out;
}

}  // namespace trainx::plan
