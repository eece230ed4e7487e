// `trainx train --profile N`: N steps with the time of each of their instructions.
#pragma once
#include "metrics/console.hpp"
#include "train/build.hpp"
#include <cstdint>

namespace trainx::train {

class ProfileObserver : public Observer {
 public:
  /// Writes the trace to `path`, and what it shows to the console. The first steps of this process,
  /// whose libraries are still loading, are left out.
  ProfileObserver(TrainingParts& parts, metrics::Console& console, std::string path,
                  std::int64_t steps);
  bool needs_rest_after(std::int64_t step) const override;
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState& state, execute::Request request) override;

 private:
  void write();

  TrainingParts& parts_;
  metrics::Console& console_;
  std::string path_;
  std::int64_t steps_, first_ = -1;  // the step after which timing begins
  std::vector<execute::StepTimes> timed_;
  double wait_s_ = 0, step_s_ = 0;  // of the steps that were timed
  bool written_ = false;
};

}  // namespace trainx::train
