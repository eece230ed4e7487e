// What fp32, the default, costs on a GPU whose tensor cores compute in bf16.
#pragma once
#include "facts/facts.hpp"
#include "plan/run_plan.hpp"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace trainx::plan {

/// The same run, cut in the same way, in bf16 with exact fp32 weights.
struct PrecisionCost {
  double step_s = 0, bf16_step_s = 0;  // predicted
  std::int64_t more_bytes = 0;         // that a rank takes more in bf16; negative: less
};

/// Nothing unless the plan computes in fp32 on a GPU that has bf16, both times are predicted, and
/// bf16 is faster. `facts`, `gpu`: what `plan` was made of (PlanOptions::gpu).
std::optional<PrecisionCost> cost_of_fp32(const RunPlan& plan, const facts::Facts& facts,
                                          const std::string& gpu);

std::string describe(const std::optional<PrecisionCost>& cost);
/// As an entry of the plan's "advice"; an empty list if there is none.
nlohmann::json to_json(const std::optional<PrecisionCost>& cost);

}  // namespace trainx::plan
