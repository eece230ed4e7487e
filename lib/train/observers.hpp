// What is done between steps: telling, evaluating, saving.
#pragma once
#include "metrics/clock_watch.hpp"
#include "metrics/console.hpp"
#include "metrics/metrics_log.hpp"
#include "train/build.hpp"
#include "train/checkpoints.hpp"

namespace trainx::train {

/// Tells when something that recurs is due: every so many steps, or seconds of training.
class Recurrence {
 public:
  Recurrence(const plan::Interval& every, const TrainState& state) : every_(every), last_seconds_(state.seconds) {}
  /// For what can act at once.
  bool due(const TrainState& state) const { return every_.steps > 0 ? state.step % every_.steps == 0 : state.seconds - last_seconds_ >= every_.seconds; }
  /// For what needs the memory at rest: after step `step`, known before the next one begins, on all ranks alike.
  bool due_at(std::int64_t step) const { return (every_.steps > 0 && step % every_.steps == 0) || step == soon_; }
  /// After each step: what has become due by the clock is soon.
  void watch(const TrainState& state) {
    if (every_.steps == 0 && due(state)) ask(state);
  }
  /// Once more, as soon as ranks can.
  void ask(const TrainState& state) {
    if (soon_ < state.step) soon_ = state.step + steps_ahead;
  }
  void acted(const TrainState& state) { last_seconds_ = state.seconds; }

 private:
  plan::Interval every_;
  double last_seconds_;
  std::int64_t soon_ = -1;              // step
};

/// metrics.jsonl and the console.
class MetricsObserver : public Observer {
 public:
  MetricsObserver(const TrainingParts& parts, metrics::Console& console, metrics::MetricsLog& file, const TrainState& state)
      : parts_(parts), console_(console), file_(file), every_(parts.plan.metrics_every, state), last_(parts.device->power()), last_tokens_(state.tokens_seen), last_seconds_(state.seconds) {}
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState&, Request) override {}

 private:
  void add_device(const TrainState& state, metrics::StepReport& r);

  const TrainingParts& parts_;
  metrics::Console& console_;
  metrics::MetricsLog& file_;
  Recurrence every_;
  std::string told_problem_;            // of the file
  PowerReading last_;                   // at the last report
  metrics::ClockWatch clock_watch_;
  std::int64_t last_tokens_;
  double last_seconds_;
};

/// Loss over held-out samples; remembers the best.
class EvalObserver : public Observer {
 public:
  /// `file`: null where another rank writes it.
  EvalObserver(TrainingParts& parts, metrics::Console& console, metrics::MetricsLog* file, std::optional<double> entropy_floor, const TrainState& state);
  bool needs_rest_after(std::int64_t step) const override;
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState& state, Request request) override;

 private:
  void evaluate(TrainState& state);

  TrainingParts& parts_;
  metrics::Console& console_;
  metrics::MetricsLog* file_;
  std::optional<double> entropy_floor_;
  Recurrence every_;
  std::int64_t evaluated_ = -1;         // last step evaluated
};

/// Saves when it is due and whenever the held-out loss is lower than ever; a save that fails leaves the older checkpoints and the run goes on, except for the last one, whose failure ends the run.
class CheckpointObserver : public Observer {
 public:
  /// `store`: the run's folder; null on ranks that write their shards into what rank 0 begins. `saved_step`: what the folder holds already; nothing in a new one.
  CheckpointObserver(TrainingParts& parts, checkpoint::Store* store, metrics::Console& console, std::optional<std::int64_t> saved_step, std::int64_t threads,
                     std::map<std::string, std::string> carried, const TrainState& state);
  bool needs_rest_after(std::int64_t step) const override;
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState& state, Request request) override;
  void on_save_request(const TrainState& state) override { every_.ask(state); }
  std::optional<std::int64_t> saved_step() const { return saved_; }

 private:
  void save(TrainState& state);

  TrainingParts& parts_;
  checkpoint::Store* store_;
  metrics::Console& console_;
  std::int64_t threads_;
  std::map<std::string, std::string> carried_;   // tokenizer files: name, contents
  Recurrence every_;
  std::optional<std::int64_t> saved_;   // last step saved in this folder
  std::int64_t saved_best_ = 0;         // state.best_step in it
};

}  // namespace trainx::train
