#pragma once
#include "plan/run_plan.hpp"
#include <string>

namespace net {

/// What the check of programs says of the rank's training program as it is and damaged in drawn
/// ways, what is_ordered says of drawn waits that are taken away, and what a fingerprint tells
/// apart. Of a program of too many instructions: nothing.
std::string checks_text(const trainx::plan::RunPlan& plan, int rank);

}  // namespace net
