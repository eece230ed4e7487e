#pragma once
#include "recipe/sections.hpp"
#include <cstdint>
#include <functional>

namespace trainx::plan {

/// A schedule's durations, in steps.
struct ScheduleSteps {
  std::int64_t warmup = 0;
  std::int64_t total = -1;     // -1: not known, a duration in time
  std::int64_t decay = 0;      // of wsd
  std::int64_t timescale = 0;  // of inverse_sqrt
};

/// Counts the schedule's durations in steps (`steps_of` does, for the key that it is told) and
/// writes into `schedule` what was auto. Throws UserError 78 where they do not fit into `total`
/// steps.
ScheduleSteps plan_schedule(
    recipe::ScheduleSection& schedule, std::int64_t total,
    const std::function<std::int64_t(const Duration&, const char* key)>& steps_of);

/// Learning rate of 0-based applied step s with w warm-up steps of N: lr*(s+1)/w for s < w; after
/// that, with p = (s-w)/(N-w), at most 1, and f = final_ratio,
///   constant          lr
///   linear            lr * (f + (1-f)*(1-p))
///   polynomial        lr * (f + (1-f)*(1-p)^power)
///   cosine            lr * (f + (1-f)*(1+cos(pi*p))/2)
///   cosine_restarts   the same of p*cycles less its whole part; f for p = 1
///   wsd               lr before the last d steps; in them, with q = (s-(N-d))/d, lr * (f +
///   (1-f)*shape): 1-q, (1+cos(pi*q))/2 or 1-sqrt(q) inverse_sqrt      lr * sqrt(t/(s-w+t)), t =
///   timescale range_test        lr * r^(1-q), r = initial_ratio, q = (s-w)/(N-1-w), at most 1: the
///   last step has lr; one of the user's own: lr * its function
double learning_rate(const recipe::ScheduleSection& schedule, double lr, std::int64_t s,
                     const ScheduleSteps& steps);

/// By applied step; beyond its end the last entry holds. What is constant after warm-up has one
/// entry after it.
std::vector<double> learning_rate_table(const recipe::ScheduleSection& schedule, double lr,
                                        const ScheduleSteps& steps);

}  // namespace trainx::plan
