#pragma once
#include "metrics/console.hpp"
#include "train/build.hpp"
#include <cstdint>

namespace trainx::train {

/// On a GPU: holds what every kind of captured step is made of against the plan, also what is
/// captured anew. A difference ends the run with 79, or is a warning where that was allowed.
class AttestObserver : public Observer {
 public:
  AttestObserver(const TrainingParts& parts, metrics::Console& console, bool allow_degraded)
      : parts_(parts), console_(console), allow_degraded_(allow_degraded) {}
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState&, execute::Request) override {}

 private:
  void attest(const TrainState& state, const execute::CapturedKernels& captured);

  const TrainingParts& parts_;
  metrics::Console& console_;
  bool allow_degraded_;
  std::int64_t seen_ = 0;     // steps of this process
  bool warned_ = false;       // once: what is captured again is as it was
  std::size_t attested_ = 0;  // captures that were looked at
};

}  // namespace trainx::train
