#include "metrics/report.hpp"
#include <nlohmann/json.hpp>
#include <chrono>

namespace trainx::metrics {

nlohmann::ordered_json to_json(const StepReport& r) {
  nlohmann::ordered_json j{{"step", r.step},
                           {"epoch", r.epoch},
                           {"loss", r.loss},
                           {"step_loss", r.step_loss},
                           {"grad_norm", r.grad_norm},
                           {"lr", r.lr},
                           {"tokens_seen", r.tokens_seen},
                           {"tokens_per_second", r.tokens_per_second},
                           {"step_time_ms", r.step_time_ms},
                           {"data_wait_ms", r.data_wait_ms},
                           {"peak_memory_bytes", r.peak_memory_bytes},
                           {"device_memory_bytes", r.device_memory_bytes},
                           {"applied_steps", r.applied_steps},
                           {"unix_time_s", r.unix_time_s}};
  if (r.loss_scale) j["loss_scale"] = *r.loss_scale;
  if (r.experts) {
    j["expert_load_max"] = r.experts->largest;
    j["expert_load_entropy"] = r.experts->entropy;
    j["dropped_tokens"] = r.experts->dropped;
  }
  for (int k = 0; r.fp8 && k < Fp8Shares::classes; ++k) {
    const std::string of = Fp8Shares::names[k];
    j["fp8_flushed_" + of] = r.fp8->flushed[k];
    j["fp8_saturated_" + of] = r.fp8->saturated[k];
  }
  if (r.mfu) j["mfu"] = *r.mfu;
  if (r.joules_per_token) j["joules_per_token"] = *r.joules_per_token;
  if (r.power_capped) j["power_capped"] = *r.power_capped;
  if (r.clock_mhz) j["clock_mhz"] = *r.clock_mhz;
  if (!r.clock_reason.empty()) j["clock_reason"] = r.clock_reason;
  if (r.watts) j["watts"] = *r.watts;
  if (r.gpu_utilization) j["gpu_utilization"] = *r.gpu_utilization;
  if (r.memory_utilization) j["memory_utilization"] = *r.memory_utilization;
  if (r.temperature_celsius) j["temperature_celsius"] = *r.temperature_celsius;
  if (r.device_used_bytes) j["device_used_bytes"] = *r.device_used_bytes;
  if (r.device_total_bytes) j["device_total_bytes"] = *r.device_total_bytes;
  for (const auto& [name, value] : r.metrics) j[name] = value;
  return j;
}

bool is_own_key(const std::string& name) {
  StepReport all;
  all.loss_scale = all.mfu = all.joules_per_token = all.power_capped = all.watts = 0;
  all.gpu_utilization = all.memory_utilization = 0;
  all.clock_mhz = all.temperature_celsius = all.device_used_bytes = all.device_total_bytes = 0;
  all.clock_reason = "any";
  all.experts.emplace();
  all.fp8.emplace();
  EvalReport evaluation{.all_batches = 1, .unix_time_s = 1};
  evaluation.entropy_floor = 0;
  return to_json(all).contains(name) || to_json(evaluation).contains("eval_" + name) ||
         to_json(Fp8Fallback{}).contains(name) || name.starts_with("eval_") || name == "prompt" ||
         name == "text";
}

nlohmann::ordered_json to_json(const EvalReport& r) {
  nlohmann::ordered_json j{{"step", r.step}};
  if (r.unix_time_s > 0) j["epoch"] = r.epoch;
  j["eval_loss"] = r.loss;
  j["eval_targets"] = r.targets;
  if (r.all_batches > 0) j["eval_batches"] = r.batches, j["eval_all_batches"] = r.all_batches;
  for (const auto& [name, value] : r.metrics) j["eval_" + name] = value;
  if (r.entropy_floor) j["eval_entropy_floor"] = *r.entropy_floor;
  if (r.unix_time_s > 0) j["unix_time_s"] = r.unix_time_s;
  return j;
}

nlohmann::ordered_json to_json(const Fp8Fallback& r) {
  std::string weights;
  for (const std::string& name : r.weights) weights += (weights.empty() ? "" : " ") + name;
  return {{"step", r.step},
          {"fp8_fallback", weights},
          {"fp8_fallback_products", r.products},
          {"unix_time_s", r.unix_time_s}};
}

nlohmann::ordered_json to_json(const SampleReport& r) {
  return {{"step", r.step}, {"prompt", r.prompt}, {"text", r.text}, {"unix_time_s", r.unix_time_s}};
}

double unix_time_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) /
         1e3;
}

std::string json_line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace trainx::metrics
