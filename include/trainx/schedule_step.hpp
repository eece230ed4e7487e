#pragma once
#include <cstdint>

namespace trainx {

/// A step that a schedule is asked about.
struct ScheduleStep {
  std::int64_t applied = 0;  // updates before this one: 0 in the first step
  std::int64_t total = 0;    // steps of the run
  std::int64_t warmup = 0;   // schedule.warmup, in steps; `applied` is not below
  double lr = 0;             // optimizer.lr
};

}  // namespace trainx
