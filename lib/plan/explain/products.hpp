#pragma once
#include "plan/run_plan.hpp"
#include <string>

namespace trainx::plan {

/// Operands of the blocks' matrix products, where they are in fp8; else "".
std::string describe_products(const RunPlan& plan);
/// How fast a GPU is taken to multiply fp8, behind the predicted time; "" without fp8.
std::string describe_fp8_rate(const RunPlan& plan);

}  // namespace trainx::plan
