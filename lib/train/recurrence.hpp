#pragma once
#include "plan/run_plan.hpp"
#include "train/trainer.hpp"
#include <cstdint>

namespace trainx::train {

/// Tells when something that recurs is due: every so many steps, or seconds of training.
class Recurrence {
 public:
  Recurrence(const plan::Interval& every, const TrainState& state)
      : every_(every), last_seconds_(state.seconds) {}
  /// For what can act at once.
  bool due(const TrainState& state) const {
    return every_.steps > 0 ? state.step % every_.steps == 0
                            : state.seconds - last_seconds_ >= every_.seconds;
  }
  /// For what needs the memory at rest: after step `step`, known before the next one begins, on all
  /// ranks alike.
  bool due_at(std::int64_t step) const {
    return (every_.steps > 0 && step % every_.steps == 0) || step == soon_;
  }
  /// After each step: what has become due by the clock is soon.
  void watch(const TrainState& state) {
    if (every_.steps == 0 && due(state)) ask(state);
  }
  /// Once more, as soon as ranks can.
  void ask(const TrainState& state) {
    if (soon_ < state.step) soon_ = state.step + steps_ahead;
  }
  void acted(const TrainState& state) { last_seconds_ = state.seconds; }
  /// From now on every so many seconds.
  void recur_every(double seconds) { every_ = {0, seconds}; }

 private:
  plan::Interval every_;
  double last_seconds_;
  std::int64_t soon_ = -1;  // step
};

}  // namespace trainx::train
