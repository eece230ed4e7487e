#pragma once
#include "metrics/report.hpp"
#include <cstdint>
#include <string>

namespace trainx::metrics {

/// How far a run goes.
struct Goal {
  std::int64_t total_steps = -1;  // -1: as many as fit total_seconds
  double total_seconds = 0;
  double seconds_before = 0;  // of total_seconds, spent before this process began
  // memory of the process, on a GPU its memory there; 0: not known
  std::int64_t planned_bytes = 0;
};

/// "step 120/2000 | loss 3.4512 | lr 6.00e-04 | 12.3k tokens/s | 1.2 GiB of 1.3 GiB planned | 2 min
/// 5 s left", without line end, at most `columns` wide: less important parts are left out first,
/// the step, the loss and the time left last. `seconds_left` below 0: not known. `verbose` adds
/// gradient norm, step time, data wait, and a GPU's load, power and temperature. A clock that
/// something other than the power limit holds down is shown.
std::string status_line(const StepReport& report, const Goal& goal, double seconds_left,
                        bool verbose, int columns);

}  // namespace trainx::metrics
