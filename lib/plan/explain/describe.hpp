// All that a plan says, for people and for --json.
#pragma once
#include "plan/explain/report.hpp"
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// `price_per_gpu_hour`: in EUR; 0: not given. text_of() and json_of() print it.
Report report_of(const RunPlan& plan, bool with_program, double price_per_gpu_hour);

}  // namespace trainx::plan
