#pragma once
#include "metrics/memory_error_watch.hpp"
#include "train/observers.hpp"
#include "train/run_folder.hpp"

namespace trainx::train {

/// Warns of errors in the GPU's memory, and keeps ECC's counters in run.json: of the run's
/// beginning and of the last look. Looks between steps when nothing computes, and at the end.
class MemoryErrorObserver : public Observer {
 public:
  /// `folder`: null where another rank writes it.
  MemoryErrorObserver(const TrainingParts& parts, metrics::Console& console, RunFolder* folder);
  void on_begin(TrainState&) override { look(); }
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState&, const FinishedStep&, bool at_rest) override {
    if (at_rest) look();
  }
  void on_end(TrainState&, execute::Request) override { look(); }
  /// Also where the run has failed.
  void look();

 private:
  const TrainingParts& parts_;
  metrics::Console& console_;
  RunFolder* folder_;
  metrics::MemoryErrorWatch watch_;
  MemoryErrors written_;
};

}  // namespace trainx::train
