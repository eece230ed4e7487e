// A schedule that falls from lr to a tenth of it again and again.
#pragma once
#include <trainx/schedule.hpp>
#include <cstdint>

struct SawtoothOptions {
  std::int64_t period = 4;
};
template <class Visitor>
void visit_fields(Visitor& field, SawtoothOptions& o) {
  field("period", o.period, trainx::at_least(1), "Steps of a tooth");
}

inline double sawtooth(const SawtoothOptions& o, const trainx::ScheduleStep& step) {
  const std::int64_t at = (step.applied - step.warmup) % o.period;
  return 1 - 0.9 * static_cast<double>(at) / static_cast<double>(o.period);
}
