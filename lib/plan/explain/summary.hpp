// Single figures of a plan, for the screen that a run starts with and for `trainx plan`.
#pragma once
#include "plan/run_plan.hpp"

namespace trainx::plan {

/// Whether step_flops counts what the model computes: not what modules of the user's own do.
bool counts_flops(const RunPlan& plan);

/// Values of the model's parameters.
double parameter_count(const RunPlan& plan);
/// Those that optimizer.groups do not freeze.
double trained_parameter_count(const RunPlan& plan);
/// " (7.1 M trained)", or nothing where all are.
std::string trained_words(const RunPlan& plan);

/// Those that compute a token: of experts as many as are chosen for it.
double active_parameter_count(const RunPlan& plan);
/// ", of which 1.3 B compute a token", or nothing where all do.
std::string active_words(const RunPlan& plan);

/// "warm-up over 50 steps to 0.003, then cosine; 6e-05 in the first step, 0.00015 in the last"
std::string schedule_words(const RunPlan& plan);

}  // namespace trainx::plan
