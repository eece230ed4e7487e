#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// How many of a step's micro-steps a program holds. A long one holds at least four: the first,
/// which overwrites gradients, the last, and two alike between them, one of which stands for all
/// left out. Memory is the same; sums and time are those of the whole step (program::times,
/// predict_time).
int micro_steps_in_program(const Draft& plan, std::size_t blocks);

}  // namespace trainx::plan
