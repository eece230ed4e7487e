#pragma once
#include "train/observers.hpp"
#include <cstdint>

namespace trainx::train {

/// Gives memory that the C library keeps after it was freed back to the system, when
/// memory.release_cache_every says so.
class ReleaseObserver : public Observer {
 public:
  ReleaseObserver(const TrainingParts& parts, metrics::Console& console, const TrainState& state)
      : console_(console), every_(parts.plan.release_cache_every, state) {}
  bool needs_rest_after(std::int64_t) const override { return false; }  // what is in use stays
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState&, execute::Request) override {}

 private:
  metrics::Console& console_;
  Recurrence every_;
};

/// Returns by how much the process became smaller, in bytes.
std::int64_t release_caches();

}  // namespace trainx::train
