#include "plan/explain/precision_cost.hpp"
#include "core/error.hpp"
#include "plan/explain/human_time.hpp"
#include "core/units.hpp"
#include "hardware/support.hpp"
#include "plan/explain/advice.hpp"
#include "plan/explain/printed.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::plan {

std::optional<PrecisionCost> cost_of_fp32(const RunPlan& plan, const facts::Facts& facts,
                                          const std::string& gpu) {
  if (!plan.on_gpu || !plan.time || std::holds_alternative<architectures::CustomDims>(plan.dims) ||
      plan.recipe.precision.compute != recipe::Compute::fp32 ||
      !hardware::has_bf16_and_tf32(plan.compute_capability))
    return std::nullopt;
  recipe::Recipe other = plan.recipe;  // cut as it was decided
  other.precision.compute = recipe::Compute::bf16;
  other.memory.fit = false;
  std::optional<RunPlan> bf16;
  try {
    bf16 = make_run_plan(other, facts, {.gpu = gpu});
  } catch (const UserError&) {
    return std::nullopt;  // it does not fit, or something in the recipe needs fp32
  }
  const double gain_s = bf16->time ? plan.time->step_s - bf16->time->step_s : 0;
  if (gain_s < least_gain * plan.time->step_s) return std::nullopt;
  return PrecisionCost{plan.time->step_s, bf16->time->step_s,
                       bf16->memory.total_bytes() - plan.memory.total_bytes()};
}

std::string describe(const std::optional<PrecisionCost>& cost) {
  if (!cost) return "";
  return "advice: precision\n  precision.compute fp32 -> bf16: a step takes " +
         human_time(cost->bf16_step_s) + " instead of " + human_time(cost->step_s) +
         printed(" (%.3g times as fast), ", cost->step_s / cost->bf16_step_s) +
         human_bytes(std::abs(cost->more_bytes)) + (cost->more_bytes < 0 ? " less" : " more") +
         " memory; weights stay exact (changes rounding)\n";
}

nlohmann::json to_json(const std::optional<PrecisionCost>& cost) {
  auto all = nlohmann::json::array();
  if (!cost) return all;
  const double gain_s = cost->step_s - cost->bf16_step_s;
  all.push_back({{"now", {{"precision.compute", "fp32"}}},
                 {"better", {{"precision.compute", "bf16"}}},
                 {"gain_ms", gain_s * 1e3},
                 {"gain_share", gain_s / cost->step_s},
                 {"more_bytes", cost->more_bytes},
                 {"reason", "the GPU's tensor cores multiply in bf16; weights stay exact"},
                 {"changes_training", true}});
  return all;
}

}  // namespace trainx::plan
