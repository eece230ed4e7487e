#pragma once
#include "checkpoint/checkpoint.hpp"
#include "train/resident_state.hpp"
#include "train/trainer.hpp"

namespace trainx::train {

/// What a checkpoint of this run holds: config.json and model.safetensors as a Hugging Face folder has them, optimizer.safetensors, trainer_state.json.
checkpoint::Contents checkpoint_contents(const plan::RunPlan& plan, const ResidentState& resident, const TrainState& state, std::int64_t threads);

/// Restores weights, optimizer states and counters from a checkpoint of this model. `with_states` false: weights alone (another optimizer).
TrainState load_checkpoint(const std::string& folder, ResidentState& resident, bool with_states);

/// Thread count that the checkpoint was made with: replayed by deterministic runs.
std::int64_t checkpoint_threads(const std::string& folder);

}  // namespace trainx::train
