#include "train/learning_rates.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::train {
namespace {

constexpr double told_change = 0.01;  // relative: what a longer duration changes less is no news

/// The recipe's schedule over `total` steps.
plan::ScheduleSteps over(plan::ScheduleSteps steps, std::int64_t total) {
  steps.total = total;
  return steps;
}

double rate_at(const plan::RunPlan& plan, const ScheduleSpan& span, std::int64_t applied) {
  const auto& r = plan.recipe;
  return plan::learning_rate(r.schedule, r.optimizer.lr,
                             std::max<std::int64_t>(0, applied - span.from_applied),
                             over(plan.schedule, span.until - span.from_step));
}

void require_room(const plan::RunPlan& plan, const ScheduleSpan& span) {
  const std::int64_t has = span.until - span.from_step,
                     needs = plan.schedule.warmup + plan.schedule.decay;
  if (needs <= has) return;
  throw UserError(ExitCode::invalid_recipe,
                  "schedule.resume: restart leaves " + std::to_string(has) + " steps from step " +
                      std::to_string(span.from_step) +
                      " on, and schedule.warmup and schedule.decay need " + std::to_string(needs) +
                      "; shorten them, or raise run.duration");
}

}  // namespace

std::optional<RateChange> resume_schedule(const plan::RunPlan& plan, TrainState& state) {
  const ScheduleSpan before = state.schedule;
  ScheduleSpan& span = state.schedule;
  span.until = plan.total_steps;
  const bool flat = std::holds_alternative<options::ConstantSchedule>(plan.recipe.schedule.course);
  if (state.step == 0 || before.until < 0 || span.until < 0 || before.until == span.until || flat)
    return std::nullopt;
  if (plan.recipe.schedule.resume == recipe::ScheduleResume::restart && span.until > state.step) {
    span.from_step = state.step;
    span.from_applied = state.applied_steps;
    require_room(plan, span);
  }
  const double due = rate_at(plan, before, state.applied_steps),
               next = rate_at(plan, span, state.applied_steps);
  if (std::abs(next - due) <= told_change * std::max(next, due)) return std::nullopt;
  return RateChange{state.step, state.lr, next};
}

std::vector<double> learning_rates(const plan::RunPlan& plan, const TrainState& state) {
  if (state.own_lr) return std::vector<double>(plan.lr_table.size(), *state.own_lr);
  if (state.schedule.from_step == 0) return plan.lr_table;
  std::vector<double> table = plan.lr_table;  // entries before the restart are not read any more
  for (std::int64_t s = state.schedule.from_applied; s < std::ssize(table); ++s)
    table[static_cast<std::size_t>(s)] = rate_at(plan, state.schedule, s);
  return table;
}

}  // namespace trainx::train
