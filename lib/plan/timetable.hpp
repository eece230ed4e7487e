// When a run ends, and what recurs until then.
#pragma once
#include "plan/draft.hpp"
#include "plan/schedule.hpp"
#include <cstdint>
#include <vector>

namespace trainx::plan {

/// When something recurs: every so many steps, or seconds (0: not by that measure).
struct Interval {
  std::int64_t steps = 0;
  double seconds = 0;
};

/// Of checkpoint.every: auto.
constexpr double least_checkpoint_seconds = 30;

struct Timetable {
  std::int64_t total_steps = -1;  // -1: a duration in time
  double total_seconds = 0;       // of such a duration
  ScheduleSteps schedule;
  std::vector<double> lr_table;  // by applied step; the last entry holds beyond its end
  // checkpoint_every: of auto, that it begins with
  Interval checkpoint_every, eval_every, metrics_every, release_cache_every;
  Interval generate_every;  // of texts during training; neither steps nor seconds: none
};

/// Counts the recipe's durations in steps, and resolves recipe.schedule. `tokens`: of a sample.
/// Needs plan.batch. Throws UserError 78 for durations that do not fit, 66 for one in epochs of
/// data that is missing.
Timetable plan_timetable(Draft& plan, const facts::DataFacts& data, std::int64_t tokens);

}  // namespace trainx::plan
