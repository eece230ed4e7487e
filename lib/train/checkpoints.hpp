#pragma once
#include "checkpoint/checkpoint.hpp"
#include "state/resident_state.hpp"
#include "train/trainer.hpp"
#include <cstdint>

namespace trainx::train {

/// eval.best.metric and its goal: "accuracy, higher".
std::string best_metric(const plan::RunPlan& plan);

/// What a checkpoint of this run holds: config.json and model.safetensors as a Hugging Face folder
/// has them, optimizer.safetensors, trainer_state.json; and `carried`, the tokenizer files of the
/// folder that the run began from, or of its data.
checkpoint::Contents checkpoint_contents(const plan::RunPlan& plan,
                                         const state::ResidentState& resident,
                                         const TrainState& state, std::int64_t threads,
                                         const std::map<std::string, std::string>& carried);

/// trainer_state.json of a checkpoint.
struct SavedState {
  TrainState state;
  std::string best_metric;  // whose best value state has
  // computed with: threads of a rank are replayed by deterministic runs of as many ranks
  std::int64_t threads = 1, world_size = 1;
  std::int64_t train_samples = 0;  // of an epoch: what the order of samples follows from
};
/// Throws UserError 65 for a checkpoint that is not trainx's.
SavedState read_saved_state(const std::string& folder);

}  // namespace trainx::train
