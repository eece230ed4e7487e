#include "equality/results.hpp"
#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>

namespace trainx::equality {
namespace {

namespace fs = std::filesystem;

nlohmann::json state_of(const fs::path& checkpoint) {
  return nlohmann::json::parse(read_file((checkpoint / "trainer_state.json").string()));
}

void add_tensors(const std::string& file, std::map<std::string, SavedTensor>& to) {
  const checkpoint::SafetensorsReader reader(file);
  for (const auto& [name, tensor] : reader.tensors())
    to.emplace(
        name, SavedTensor{tensor.dtype,
                          tensor.dims,
                          {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()}});
}

/// Each checkpoint, a line for each file with tensors and config.json; then which one is the best.
std::string checkpoints_of(const fs::path& run) {
  std::set<fs::path> checkpoints;
  for (const auto& entry : fs::directory_iterator(run))
    if (entry.path().filename().string().starts_with("checkpoint-"))
      checkpoints.insert(entry.path());
  std::string text;
  for (const fs::path& checkpoint : checkpoints) {
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(checkpoint)) files.insert(entry.path());
    text += checkpoint.filename().string();
    const auto state = state_of(checkpoint);
    for (const char* key : {"step", "tokens_seen"}) text += ' ' + state.at(key).dump();
    text += '\n';
    for (const fs::path& file : files) {
      const std::string name = file.filename().string();
      if (name.find("safetensors") != std::string::npos || name == "config.json")
        text += name + ' ' + hash_hex(read_file(file.string())) + '\n';
    }
  }
  if (fs::exists(run / "best")) text += "best " + fs::read_symlink(run / "best").string();
  return text;
}

}  // namespace

Results read_results(const std::string& run_folder) {
  Results results;
  std::istringstream lines(read_file(run_folder + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    for (const auto& [key, value] : row.items())
      if (!value.is_string() && !value.is_structured())
        results.metrics[key].push_back(
            value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  const fs::path latest = run_folder + "/latest";
  if (!fs::exists(latest)) return results;
  for (const auto& entry : fs::directory_iterator(latest)) {
    const auto path = entry.path();
    const std::string name = path.stem().string();  // model, or model-00001-of-00002
    if (path.extension() == ".safetensors")
      add_tensors(path.string(), results.tensors[name.substr(0, name.find('-'))]);
  }
  const nlohmann::json state = state_of(latest);
  for (const auto& [key, value] : state.items()) results.state[key] = value.dump();
  results.state["checkpoints"] = checkpoints_of(run_folder);
  return results;
}

}  // namespace trainx::equality
