#include "gpu/gemm_cache.hpp"
#include <nlohmann/json.hpp>
#include <fstream>
#include "core/files.hpp"

namespace trainx::gpu {

namespace {

/// An empty object where there is none to be had: what was measured can be measured again.
nlohmann::json read_object(const std::string& path) {
  std::ifstream in(path);
  if (!in) return nlohmann::json::object();
  nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

bool is_choice(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("algorithm")) return false;
  const nlohmann::json& words = json["algorithm"];
  if (!words.is_array() || words.size() != AlgorithmBits().size()) return false;
  for (const auto& word : words)
    if (!word.is_number_unsigned()) return false;
  for (const char* name : {"workspace_bytes", "heuristic_ms", "chosen_ms", "candidates"})
    if (!json.contains(name) || !json[name].is_number()) return false;
  return true;
}

}  // namespace

nlohmann::json to_json(const GemmChoices& choices) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [problem, c] : choices)
    json[problem] = {{"algorithm", c.algorithm},
                     {"workspace_bytes", c.workspace_bytes},
                     {"heuristic_ms", c.heuristic_ms},
                     {"chosen_ms", c.chosen_ms},
                     {"candidates", c.candidates}};
  return json;
}

GemmChoices choices_from(const nlohmann::json& json) {
  GemmChoices choices;
  if (!json.is_object()) return choices;
  for (const auto& [problem, c] : json.items())
    if (is_choice(c))
      choices[problem] = {c["algorithm"].get<AlgorithmBits>(),
                          c["workspace_bytes"].get<std::int64_t>(), c["heuristic_ms"].get<double>(),
                          c["chosen_ms"].get<double>(), c["candidates"].get<int>()};
  return choices;
}

GemmChoices load_choices(const std::string& path, const std::string& machine) {
  const nlohmann::json json = path.empty() ? nlohmann::json::object() : read_object(path);
  return json.contains(machine) ? choices_from(json[machine]) : GemmChoices();
}

void add_choices(const std::string& path, const std::string& machine, const GemmChoices& choices) {
  nlohmann::json json = read_object(path);
  GemmChoices merged = json.contains(machine) ? choices_from(json[machine]) : GemmChoices();
  for (const auto& [problem, choice] : choices) merged[problem] = choice;
  json[machine] = to_json(merged);
  make_folders(folder_of(path));
  write_file_atomic(path, json.dump(1) + "\n");
}

}  // namespace trainx::gpu
