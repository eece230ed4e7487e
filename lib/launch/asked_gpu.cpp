#include "launch/asked_gpu.hpp"
#include "core/error.hpp"
#include "launch/ask_worker.hpp"
#include "plan/device.hpp"
#include <nlohmann/json.hpp>

namespace trainx::launch {

using nlohmann::json;

bool is_of_gpu(ExitCode code) {
  return code == ExitCode::unavailable || code == ExitCode::out_of_memory;
}

std::optional<json> gpu_of(const recipe::Recipe& recipe, const facts::Facts& facts) {
  if (!plan::computes_on_gpu(recipe, facts)) return std::nullopt;
  const auto& execution = recipe.run.execution;
  json gpu{{"tf32", recipe.precision.compute == recipe::Compute::tf32},
           {"deterministic", recipe.run.deterministic},
           {"captures", execution.is_auto() || *execution.value == recipe::Execution::graph}};
  if (!facts.hardware.gpus.empty()) {
    gpu["capability"] = facts.hardware.gpus.front().compute_capability;
    gpu["bytes"] = facts.hardware.gpus.front().memory_bytes;
  }
  return gpu;
}

json ask_about_gpu(const std::string& worker, const std::string& argument, const json& question) {
  const auto parsed = [](const std::string& answer) { return json::parse(answer, nullptr, false); };
  json said = parsed(ask_worker(worker, argument, question.dump()));
  if (said.is_object() && said.contains("problem") &&
      is_of_gpu(static_cast<ExitCode>(said.value("code", 0))))
    said = parsed(ask_worker_anew(worker, argument, question.dump()));
  return said;
}

}  // namespace trainx::launch
