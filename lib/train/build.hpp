// Makes the parts of a training run from its plan, in one place.
#pragma once
#include "data/loader.hpp"
#include "execute/device.hpp"
#include "train/evaluator.hpp"
#include "execute/ranks.hpp"
#include "state/resident_state.hpp"
#include "train/trainer.hpp"

namespace trainx::train {

/// Everything a run computes with, in the order of construction. Lanes call back into loader and
/// trainer, so executors end first.
struct TrainingParts {
  TrainingParts(const plan::RunPlan& plan, std::shared_ptr<const data::Source> train_source,
                std::shared_ptr<const data::Source> eval_source, execute::Ranks ranks = {});
  ~TrainingParts();

  const plan::RunPlan& plan;
  execute::Ranks ranks;
  const plan::RankRole& role;  // of this rank
  // eval_source: null without held-out data
  std::shared_ptr<const data::Source> train_source, eval_source;
  std::unique_ptr<execute::Device> device;
  state::ResidentState resident;
  std::vector<model::Blocks> blocks;  // of each of the role's programs
  // likewise, where evaluation computes in another type; else those of training do
  std::vector<model::Blocks> evaluation_blocks;
  std::unique_ptr<optim::Optimizer> optimizer;

  /// Call once the resident state and `state` are what training begins with.
  /// `on_report`: who hears of finished steps; null: the trainer.
  void start(const TrainState& saved, execute::OnReport on_report = nullptr);
  std::unique_ptr<data::Loader> loader;
  std::unique_ptr<execute::Executor> executor;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Evaluator> evaluator;
};

/// The blocks of each program.
std::vector<model::Blocks> build_blocks(const architectures::ModelDims& dims,
                                        const std::vector<plan::PlacedProgram>& programs);

/// Opens a split as the plan needs it; null where it has no data. Throws UserError 65 or 66.
std::shared_ptr<const data::Source> open_split(const plan::RunPlan& plan, data::Split split);

}  // namespace trainx::train
