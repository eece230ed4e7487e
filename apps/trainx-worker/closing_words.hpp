#pragma once
#include "launch/job.hpp"
#include "plan/run_plan.hpp"
#include "train/run_folder.hpp"
#include "train/train_state.hpp"

namespace trainx::worker {

/// Why a run ends before its duration (early stopping); empty: it does not.
std::string early_words(const plan::RunPlan& plan, const train::TrainState& state);

/// What a run that is done tells: how long it took, where its files are, its best evaluation, what
/// to do next. `floor`: nats per token that no model can go below on the run's data, where known.
std::string closing_words(const launch::Job& job, const plan::RunPlan& plan,
                          const train::RunFolder& folder, const train::TrainState& state,
                          const std::optional<double>& floor);

}  // namespace trainx::worker
