#pragma once
#include "metrics/console.hpp"
#include "train/build.hpp"
#include <cstdint>

namespace trainx::train {

/// On a GPU: after the first steps, whose matrix products are then known, lets the device measure
/// the candidates for those that this machine has not met yet. That takes seconds for each: only
/// where much longer is left to train.
class TuneObserver : public Observer {
 public:
  TuneObserver(TrainingParts& parts, metrics::Console& console)
      : parts_(parts), console_(console) {}
  bool needs_rest_after(std::int64_t step) const override { return step == at_; }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState&, execute::Request) override {}

 private:
  // timed by then without what the first ones pay for
  static constexpr std::int64_t steps_before = 4;
  static constexpr double worth_seconds = 900;  // of training left

  TrainingParts& parts_;
  metrics::Console& console_;
  std::int64_t at_ = -1;  // the step after which it is decided
  bool done_ = false;
};

}  // namespace trainx::train
