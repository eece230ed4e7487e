// What is done between steps: telling, evaluating. Saving: checkpoint_observer.hpp.
#pragma once
#include "metrics/clock_watch.hpp"
#include "metrics/console.hpp"
#include "metrics/metrics_log.hpp"
#include "train/build.hpp"
#include "train/recurrence.hpp"
#include <cstdint>

namespace trainx::train {

/// Passes over the training data so far.
double epochs_of(const plan::RunPlan& plan, const TrainState& state);

/// metrics.jsonl and the console. The logged loss is the mean over the target tokens of all steps
/// since the last logged one, also if the run resumed in between: what they sum up to is saved
/// (TrainState::unlogged_loss_sum).
class MetricsObserver : public Observer {
 public:
  MetricsObserver(const TrainingParts& parts, metrics::Console& console, metrics::MetricsLog& file,
                  const TrainState& state)
      : parts_(parts),
        console_(console),
        file_(file),
        every_(parts.plan.metrics_every, state),
        last_(parts.device->power()),
        last_tokens_(state.tokens_seen),
        last_seconds_(state.seconds) {}
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState&, execute::Request) override {}

 private:
  void add_device(const TrainState& state, metrics::StepReport& r);

  const TrainingParts& parts_;
  metrics::Console& console_;
  metrics::MetricsLog& file_;
  Recurrence every_;
  std::string told_problem_;  // of the file
  PowerReading last_;         // at the last report
  metrics::ClockWatch clock_watch_;
  std::int64_t last_tokens_;
  double last_seconds_;
};

/// Loss and metrics over held-out samples; remembers the best value of eval.best.metric, and wants
/// the run's end when eval.early_stopping says so.
class EvalObserver : public Observer {
 public:
  /// `file`: null where another rank writes it.
  EvalObserver(TrainingParts& parts, metrics::Console& console, metrics::MetricsLog* file,
               std::optional<double> entropy_floor, const TrainState& state);
  bool needs_rest_after(std::int64_t step) const override;
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState& state, execute::Request request) override;
  bool wants_end() const override { return stale_ || !finite_; }
  /// At rest: as if it were due. What was evaluated after this step already is not computed again.
  const EvalResult& evaluate_now(TrainState& state);

 private:
  void evaluate(TrainState& state);
  void keep_best(TrainState& state, double value) const;
  void count_stale(TrainState& state, double value);

  TrainingParts& parts_;
  metrics::Console& console_;
  metrics::MetricsLog* file_;
  std::optional<double> entropy_floor_;
  Recurrence every_;
  std::int64_t evaluated_ = -1;  // last step evaluated
  EvalResult last_;              // what that found
  // as many evaluations without improvement as early stopping allows
  bool stale_ = false;
  bool finite_ = true;  // the last held-out loss
};

}  // namespace trainx::train
