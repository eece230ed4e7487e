#pragma once
#include "recipe/sections.hpp"

namespace trainx::plan {

/// Learning rate of 0-based applied step s of `total_steps` with `warmup_steps` w: lr*(s+1)/w for s < w; after that, over the N - w remaining steps,
/// constant: lr; linear: from lr to final_ratio*lr; cosine: lr*(f + (1-f)*(1+cos(pi*(s-w)/(N-w)))/2).
double learning_rate(const recipe::ScheduleSection& schedule, double lr, std::int64_t s, std::int64_t warmup_steps, std::int64_t total_steps);

/// By applied step; beyond its end the last entry holds. total_steps -1 (a duration in time): the warm-up and one entry more.
std::vector<double> learning_rate_table(const recipe::ScheduleSection& schedule, double lr, std::int64_t warmup_steps, std::int64_t total_steps);

}  // namespace trainx::plan
