#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trainx::plan {

/// Bytes that each memory lever of the plan saves: the plan without it, minus the plan with it.
/// Empty for models of more layers than are searched.
std::vector<std::pair<std::string, std::int64_t>> saved_by_levers(const RunPlan& plan);

}  // namespace trainx::plan
