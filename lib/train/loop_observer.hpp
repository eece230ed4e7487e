#pragma once
#include "train/checkpoint_observer.hpp"
#include "train/loop_channel.hpp"
#include "train/observers.hpp"
#include <cstdint>

namespace trainx::train {

/// Lets a loop of the user's own have control between steps, and does what it asks for. The last of
/// a run's observers: what the recipe wants after a step is done before the loop sees it.
class LoopObserver : public Observer {
 public:
  /// `eval`, `checkpoints`: null on ranks that have none.
  LoopObserver(TrainingParts& parts, LoopChannel& channel, EvalObserver* eval,
               CheckpointObserver* checkpoints)
      : parts_(parts), channel_(channel), eval_(eval), checkpoints_(checkpoints) {}
  bool needs_rest_after(std::int64_t) const override { return true; }
  void on_begin(TrainState& state) override;
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  bool ends_here() const override { return closed_; }
  void before_end(TrainState& state, execute::Request request) override;
  void on_end(TrainState&, execute::Request) override {}
  /// Before training came to its end by itself.
  bool closed_early() const { return closed_ && !at_end_; }

 private:
  /// Answers calls until the next step is wanted, or the run's end.
  void converse(TrainState& state, LoopAnswer answer);
  LoopCall next(const TrainState& state, LoopAnswer answer) const;
  LoopAnswer answer_to(const LoopCall& call, TrainState& state);
  void require_same_on_all(const LoopCall& call, const TrainState& state) const;
  LoopAnswer evaluate(TrainState& state);
  LoopAnswer save(TrainState& state);
  LoopAnswer set_lr(std::optional<double> lr, TrainState& state);
  LoopAnswer parameters() const;

  TrainingParts& parts_;
  LoopChannel& channel_;
  EvalObserver* eval_;
  CheckpointObserver* checkpoints_;
  bool closed_ = false;  // by the loop
  bool at_end_ = false;  // no further step
};

}  // namespace trainx::train
