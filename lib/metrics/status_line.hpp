#pragma once
#include "metrics/report.hpp"
#include <string>

namespace trainx::metrics {

/// How far a run goes.
struct Goal {
  std::int64_t total_steps = -1;        // -1: as many as fit total_seconds
  double total_seconds = 0;
  double seconds_before = 0;            // of total_seconds, spent before this process began
};

/// "step 120/2000 | loss 3.4512 | lr 6.00e-04 | 12.3k tokens/s | 1.2 GiB | 2 min 5 s left", without line end, at most `columns` wide: what does not fit is
/// left out from the right. `seconds_left` below 0: not known. `verbose` adds gradient norm, step time, the wait for data, and a GPU's load, power and
/// temperature. A clock that is held down by something else than the power limit is told.
std::string status_line(const StepReport& report, const Goal& goal, double seconds_left, bool verbose, int columns);

}  // namespace trainx::metrics
