#include "plan/schedule.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainx::plan {

double learning_rate(const recipe::ScheduleSection& schedule, double lr, std::int64_t s, std::int64_t w, std::int64_t total_steps) {
  if (s < w) return lr * static_cast<double>(s + 1) / static_cast<double>(w);
  if (schedule.type == recipe::ScheduleType::constant) return lr;
  const double progress = total_steps > w ? std::min(1.0, static_cast<double>(s - w) / static_cast<double>(total_steps - w)) : 1.0;
  const double f = schedule.final_ratio;
  if (schedule.type == recipe::ScheduleType::linear) return lr * (1 + (f - 1) * progress);
  return lr * (f + (1 - f) * (1 + std::cos(std::numbers::pi * progress)) / 2);
}

std::vector<double> learning_rate_table(const recipe::ScheduleSection& schedule, double lr, std::int64_t warmup_steps, std::int64_t total_steps) {
  const std::int64_t entries = schedule.type == recipe::ScheduleType::constant || total_steps < 0 ? warmup_steps + 1 : total_steps;
  std::vector<double> table(static_cast<std::size_t>(std::max<std::int64_t>(entries, 1)));
  for (std::size_t s = 0; s < table.size(); ++s) table[s] = learning_rate(schedule, lr, static_cast<std::int64_t>(s), warmup_steps, total_steps);
  return table;
}

}  // namespace trainx::plan
