#pragma once
#include "plan/run_plan.hpp"
#include <string>

namespace trainx::plan {

/// Operands of the blocks' matrix products, where they are in fp8; else "".
std::string describe_products(const RunPlan& plan);

}  // namespace trainx::plan
