#pragma once
#include "metrics/data_wait_watch.hpp"
#include "metrics/fp8_watch.hpp"
#include "train/observers.hpp"
#include <cstdint>

namespace trainx::train {

/// Warns of losses and gradients that are not finite or far above the others, of steps that wait
/// for data, and of casts to fp8 that lose elements.
class HealthObserver : public Observer {
 public:
  HealthObserver(const TrainingParts& parts, metrics::Console& console)
      : parts_(parts),
        console_(console),
        data_wait_(parts.plan.recipe.data.workers, parts.plan.recipe.data.prefetch) {}
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState& state, execute::Request request) override;
  /// Whether no step had anything to learn, of those from the run's beginning on.
  bool learned_nothing(const TrainState& end) const {
    return steps_ > 0 && steps_ == end.step && !learned_;
  }

 private:
  const TrainingParts& parts_;
  metrics::Console& console_;
  metrics::LossWatch loss_;
  metrics::DataWaitWatch data_wait_;
  metrics::Fp8Watch fp8_;
  std::int64_t steps_ = 0;  // seen
  bool learned_ = false;    // one had a target, or a loss
};

}  // namespace trainx::train
