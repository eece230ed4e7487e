#pragma once
#include "metrics/memory_error_watch.hpp"
#include "train/observers.hpp"
#include <string>

namespace trainx::train {

/// Warns of errors in the GPU's memory, and keeps ECC's counters in run.json: of the run's
/// beginning and of the last look. Looks between steps when nothing computes, and at the end.
class MemoryErrorObserver : public Observer {
 public:
  /// `run_info`: the path of run.json; empty where another rank writes it.
  MemoryErrorObserver(const TrainingParts& parts, metrics::Console& console, std::string run_info);
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
  std::string run_info_;
  metrics::MemoryErrorWatch watch_;
  MemoryErrors written_;
};

}  // namespace trainx::train
