#pragma once
#include "metrics/loss_watch.hpp"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainx::train {

/// Which steps the learning rate's schedule spans: from the first one, or where schedule.resume
/// restarted it.
struct ScheduleSpan {
  std::int64_t from_step = 0, from_applied = 0;
  // run.duration in steps; -1: a duration in time, or not known
  std::int64_t until = -1;
};

/// Changes while training; saved.
struct TrainState {
  std::int64_t step = 0;  // finished steps
  std::int64_t applied_steps = 0;
  std::int64_t tokens_seen = 0;
  double seconds = 0;                // spent training, all processes together
  std::optional<double> best_value;  // of eval.best.metric, over all evaluations
  std::int64_t best_step = 0;
  // that an evaluation must improve by eval.early_stopping.min_delta
  std::optional<double> stop_value;
  std::int64_t stale_evaluations = 0;  // in a row without such an improvement
  // as kernels::advance_loss_scale has them; 0: losses have not been scaled
  double loss_scale = 0, finite_steps = 0;
  // of tensors that are cast to fp8, as kernels::advance_fp8_ranges has them; empty: scales are not
  // delayed, or no step has been
  std::vector<double> fp8_ranges;
  // products that have fallen back, by names of weights, in the order of the model
  std::vector<std::string> fp8_fallback;
  // since the last multiple of precision.fallback_window: by tensor (operations::Fp8Site), the sum
  // over steps of its share of saturated elements, where that is not 0
  std::map<std::int64_t, double> fp8_saturation;
  double lr = 0;  // of the last step
  // set by a loop of the user's own: holds instead of the schedule's
  std::optional<double> own_lr;
  bool last_loss_finite = true;
  bool held_out_finite = true;  // of the last evaluation
  ScheduleSpan schedule;
  /// Of the steps since the last logged one, so that a mean that spans a resume is that of all its
  /// steps.
  double unlogged_loss_sum = 0, unlogged_targets = 0;
  std::vector<double> unlogged_metrics;  // of a loss of the user's own: sum and count of each
  metrics::RunningLoss running_loss;
};

/// Says that the held-out loss after that step is not finite.
std::string not_finite_held_out(std::int64_t step);

/// Why a run that is at its end counts as diverged; empty: it does not.
std::string divergence_of(const TrainState& state);

}  // namespace trainx::train
