#include "plan/explain/run_length.hpp"
#include "plan/explain/human_time.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::plan {
namespace {

bool may_pad(const RunPlan& plan) { return !options::always_fills_rows(plan.recipe.data.source); }

}  // namespace

RunLength run_length(const RunPlan& plan) {
  RunLength length;
  length.counts_padding = may_pad(plan);
  const double step_s = plan.time ? plan.time->step_s : 0;
  if (plan.total_steps >= 0) {
    length.steps = plan.total_steps;
    length.seconds = static_cast<double>(plan.total_steps) * step_s;
  } else if (step_s > 0) {
    length.steps = static_cast<std::int64_t>(std::ceil(plan.total_seconds / step_s));
    length.seconds = plan.total_seconds;
  }
  if (length.steps >= 0)
    length.tokens = static_cast<double>(length.steps) * static_cast<double>(plan.tokens_per_step);
  if (plan.on_gpu) length.gpu_hours = length.seconds * plan.mesh.ranks() / 3600;
  return length;
}

std::string tokens_words(const RunPlan& plan, double tokens) {
  return (may_pad(plan) ? "at most " : "") + human_count(tokens);
}

std::string describe(const RunLength& length, double price) {
  std::string text = human_seconds(length.seconds);
  if (length.gpu_hours > 0)
    text += ", " + human_amount(length.gpu_hours) + " GPU hours" +
            (price > 0 ? ": " + human_amount(price * length.gpu_hours) + " EUR" : "");
  return text;
}

nlohmann::json to_json(const RunLength& length, double price) {
  nlohmann::json j{{"steps", length.steps >= 0 ? nlohmann::json(length.steps) : nullptr},
                   {"tokens", length.steps >= 0 ? nlohmann::json(length.tokens) : nullptr},
                   {"counts_padding", length.counts_padding}};
  if (length.seconds > 0) j["seconds"] = length.seconds;
  if (length.gpu_hours > 0) j["gpu_hours"] = length.gpu_hours;
  if (length.gpu_hours > 0 && price > 0) j["cost_eur"] = price * length.gpu_hours;
  return j;
}

}  // namespace trainx::plan
