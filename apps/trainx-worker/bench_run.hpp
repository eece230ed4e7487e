#pragma once
#include "launch/job.hpp"
#include "train/build.hpp"
#include <cstdint>
#include <functional>

namespace trainx::worker {

/// Steps of a recipe from new weights, without a run's folder, observers or saving.
class BenchRun {
 public:
  /// `phase` hears when "opened", "initialized" and "uploaded" are done.
  BenchRun(const plan::RunPlan& plan, const launch::Job& job,
           const std::function<void(const char*)>& phase = {}, execute::Ranks ranks = {});
  /// Until they are done.
  void run(std::int64_t steps);
  /// The same; how many seconds they took. Where the host updates beside the next step, they are
  /// timed between others.
  double run_between(std::int64_t steps);
  /// Each by itself.
  std::vector<execute::StepTimes> run_timed(std::int64_t steps);
  train::TrainingParts& parts() { return parts_; }
  double loss() const { return loss_; }

 private:
  train::TrainingParts parts_;
  double loss_ = 0;  // of the last step
  std::int64_t done_ = 0;
};

}  // namespace trainx::worker
