#include "launch/worker_optimizer.hpp"
#include "core/error.hpp"
#include "launch/asked_gpu.hpp"
#include "launch/job.hpp"
#include "launch/worker_refusal.hpp"
#include "options/field_json.hpp"
#include <nlohmann/json.hpp>

namespace trainx::launch {

using nlohmann::json;

void measure_optimizer(const recipe::Recipe& recipe, facts::Facts& facts) {
  const auto* own = std::get_if<options::OwnOptimizerOptions>(&recipe.optimizer.options);
  if (!own || !own->on_tensors || facts.hardware.gpus.empty()) return;
  const auto gpu = gpu_of(recipe, facts);
  if (!gpu) return;
  const std::string worker = worker_path();
  const json said = ask_about_gpu(
      worker, "--describe-rule",
      {{"optimizer", own->name}, {"options", options::values_to_json(own->fields)}, {"gpu", *gpu}});
  try {
    if (said.is_object() && said.contains("problem")) {
      const auto code = static_cast<ExitCode>(said.value("code", 0));
      throw UserError(is_of_gpu(code) ? code : ExitCode::invalid_recipe,
                      said.at("problem").get<std::string>());
    }
    facts.own_rule = {said.at("bytes_per_element").get<double>(),
                      said.at("seconds_per_element").get<double>(),
                      said.at("not_captured").get<std::string>()};
  } catch (const json::exception&) {
    refuse_worker(worker,
                  "answers --describe-rule otherwise than a worker of trainx does; build it again");
  }
}

}  // namespace trainx::launch
