#pragma once
#include "core/power_reading.hpp"
#include <set>

namespace trainx::metrics {

/// By something else than the power limit, which sets the clock of a GPU under full load.
bool is_held_down(const PowerReading& reading);

/// Tells what holds a GPU's clock down: each cause once in a run, the power limit never.
class ClockWatch {
 public:
  /// A sentence for each cause that was not told yet.
  std::vector<std::string> news(const PowerReading& reading);

 private:
  std::set<ClockLimit> told_;
};

}  // namespace trainx::metrics
