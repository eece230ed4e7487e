#include "equality/results.hpp"
#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>
#include <limits>
#include <sstream>

namespace trainx::equality {
namespace {

void add_tensors(const std::string& file, std::map<std::string, SavedTensor>& to) {
  const checkpoint::SafetensorsReader reader(file);
  for (const auto& [name, tensor] : reader.tensors())
    to.emplace(
        name, SavedTensor{tensor.dtype,
                          tensor.dims,
                          {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()}});
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
  const std::filesystem::path latest = run_folder + "/latest";
  if (!std::filesystem::exists(latest)) return results;
  for (const auto& entry : std::filesystem::directory_iterator(latest)) {
    const auto path = entry.path();
    const std::string name = path.stem().string();  // model, or model-00001-of-00002
    if (path.extension() == ".safetensors")
      add_tensors(path.string(), results.tensors[name.substr(0, name.find('-'))]);
  }
  const auto state = nlohmann::json::parse(read_file((latest / "trainer_state.json").string()));
  for (const auto& [key, value] : state.items()) results.state[key] = value.dump();
  return results;
}

}  // namespace trainx::equality
