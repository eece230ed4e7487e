#pragma once
#include "launch/job.hpp"
#include "metrics/start_screen.hpp"
#include "plan/run_plan.hpp"

namespace trainx::worker {

/// What a run is, for the screen that it starts with: model, data, batch, steps, learning rate,
/// memory.
std::vector<metrics::StartRow> start_rows(const plan::RunPlan& plan, const launch::Job& job);
/// Every setting of the recipe and where it came from.
std::vector<metrics::Setting> settings_of(const plan::RunPlan& plan, const launch::Job& job);

}  // namespace trainx::worker
