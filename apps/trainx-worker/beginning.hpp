// Where a run begins: its newest checkpoint, that of the run it forks from, or new weights.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include "data/source.hpp"
#include "launch/job.hpp"
#include "metrics/console.hpp"
#include "train/build.hpp"
#include "train/checkpoints.hpp"
#include "train/run_folder.hpp"
#include <string>
#include <vector>

namespace trainx::worker {

/// Where the run begins, as rank 0 found it: the same for all.
struct Beginning {
  std::string from;  // a checkpoint's folder; empty: anew
  bool own = false, with_states = true, finished = false;
};

std::string to_text(const Beginning& b);
Beginning beginning_from(const std::string& text);

/// A run's folder, which rank 0 alone writes.
struct OwnFolder {
  train::RunFolder folder;
  checkpoint::Store store;
  explicit OwnFolder(const std::string& path) : folder(path), store(path) {}
};

/// The state that a checkpoint has for this plan.
train::SavedState read_state(const std::string& checkpoint, const plan::RunPlan& plan);

/// Looks for the checkpoint to go on from, and says that there is nothing to do if the run is at
/// its end. Rank 0 alone. Throws UserError 78 for another run or other data, 80 for a run that
/// diverged.
Beginning begin(OwnFolder& own, const std::string& path, const std::string& fork_source,
                const plan::RunPlan& plan, const std::vector<data::DataFile>& files,
                metrics::Console& console);

/// Whether --overwrite removes what is in the folder: once for each use of it, however often the
/// workers are started.
bool overwrites(const launch::Job& job, const train::RunFolder& folder);
/// Throws UserError 2 if --overwrite would remove what the new run begins from.
void require_outside(const recipe::Recipe& recipe, const std::string& path);

/// Loads or draws the weights and states with which the run begins. All ranks. `console` null: they
/// were told of already.
void load(train::TrainingParts& parts, const Beginning& start, train::TrainState& state,
          metrics::Console* console);

}  // namespace trainx::worker
