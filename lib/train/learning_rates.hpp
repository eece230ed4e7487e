#pragma once
#include "plan/run_plan.hpp"
#include "train/train_state.hpp"
#include <cstdint>

namespace trainx::train {

/// What another run.duration does to the learning rate of a run that resumes.
struct RateChange {
  std::int64_t step = 0;      // last one trained
  double last = 0, next = 0;  // learning rates of it and of the one after it
};

/// Brings state.schedule to the plan's duration, as schedule.resume says. Returns the change if the
/// next step trains with another rate than under the old duration. Throws UserError 78 if a
/// schedule that restarts has no room for its warm-up or decay.
std::optional<RateChange> resume_schedule(const plan::RunPlan& plan, TrainState& state);

/// By applied step: the plan's table, shifted to where state.schedule begins; or state.own_lr.
std::vector<double> learning_rates(const plan::RunPlan& plan, const TrainState& state);

}  // namespace trainx::train
