#include "plan/timetable.hpp"
#include "core/error.hpp"
#include "plan/limits.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {
namespace {

// Steps of a duration in steps, epochs or tokens; nullopt for one in time.
std::optional<std::int64_t> steps_of(const Duration& d, const BatchPlan& batch, std::int64_t length,
                                     const facts::DataFacts& data, const std::string& key) {
  const auto samples_per_step = static_cast<double>(batch.global_batch_size);
  switch (d.unit) {
    case Duration::Unit::steps: return std::llround(d.amount);
    case Duration::Unit::epochs:
      if (!data.train_present)
        throw UserError(ExitCode::input_missing,
                        key + " is in epochs, but the training data is missing: " + data.problem);
      return static_cast<std::int64_t>(
          std::ceil(d.amount * static_cast<double>(data.train_samples) / samples_per_step));
    case Duration::Unit::tokens:
      return static_cast<std::int64_t>(
          std::ceil(d.amount / (samples_per_step * static_cast<double>(length))));
    // of percent the schedule knows the whole
    case Duration::Unit::seconds:
    case Duration::Unit::percent: break;
  }
  return std::nullopt;
}

}  // namespace

Timetable plan_timetable(Draft& plan, const facts::DataFacts& data, std::int64_t tokens) {
  recipe::Recipe& r = plan.recipe;
  Timetable times;
  const auto steps = [&](const Duration& d, const char* key) {
    return steps_of(d, plan.batch, tokens, data, key);
  };
  if (const auto total = steps(r.run.duration, "run.duration"))
    times.total_steps = *total;
  else
    times.total_seconds = r.run.duration.amount;
  times.schedule =
      plan_schedule(r.schedule, times.total_steps,
                    [&](const Duration& d, const char* key) { return steps(d, key).value_or(0); });
  if (times.schedule.warmup >= 0) require_plannable_table(times.schedule.warmup, "schedule.warmup");
  const bool constant = std::holds_alternative<options::ConstantSchedule>(r.schedule.course);
  const auto* adafactor = std::get_if<options::AdafactorOptions>(&r.optimizer.options);
  const bool follows_steps = adafactor && adafactor->relative_step;
  if (!constant || follows_steps) require_plannable_table(times.total_steps, "run.duration");
  if (follows_steps)
    for (std::int64_t t = 1; t <= std::max<std::int64_t>(times.total_steps, 1); ++t)
      times.lr_table.push_back(options::relative_step(*adafactor, static_cast<double>(t)));
  else
    times.lr_table = learning_rate_table(r.schedule, r.optimizer.lr, times.schedule);
  const auto interval = [&](const Duration& d, const char* key) {
    const auto n = steps(d, key);
    return n ? Interval{std::max<std::int64_t>(*n, 1), 0} : Interval{0, d.amount};
  };
  times.checkpoint_every = r.checkpoint.every.is_auto()
                               ? Interval{0, least_checkpoint_seconds}
                               : interval(*r.checkpoint.every.value, "checkpoint.every");
  times.eval_every = interval(r.eval.every, "eval.every");
  times.metrics_every = interval(r.metrics.every, "metrics.every");
  if (r.memory.release_cache_every)
    times.release_cache_every =
        interval(*r.memory.release_cache_every, "memory.release_cache_every");
  if (r.generate.every) times.generate_every = interval(*r.generate.every, "generate.every");
  return times;
}

}  // namespace trainx::plan
