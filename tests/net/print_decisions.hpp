#pragma once
#include "plan/run_plan.hpp"
#include <map>
#include <string>

namespace net {

/// By heading what a plan decides and predicts beside the rank's programs: "decisions", "memory",
/// "expected kernels", "time", "learning rates", "choices", "described".
std::map<std::string, std::string> decision_texts(const trainx::plan::RunPlan& plan, int rank);

}  // namespace net
