// What a plan says: one tree of facts, printed as text for people and as JSON for programs.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainx::plan {

/// One thing that a plan says.
struct Fact {
  std::string key;       // where it stands in the JSON, "time/step_ms"; "": not there
  nlohmann::json value;  // of the key
  std::string text;      // its whole lines; "": people are not told
};

/// Facts below a heading, which is printed if any of them has text.
struct ReportSection {
  std::string heading;  // ""; or a line without its end
  std::vector<Fact> facts;

  /// For people and programs, for people alone, for programs alone.
  void both(std::string key, nlohmann::json value, std::string text);
  void tell(std::string text);
  void give(std::string key, nlohmann::json value);
};

using Report = std::vector<ReportSection>;

/// A line of a section: "  name    value\n", values below each other.
std::string row(const std::string& name, const std::string& value);

std::string text_of(const Report& report);
nlohmann::json json_of(const Report& report);

}  // namespace trainx::plan
