#include "core/power_reading.hpp"

namespace trainx {

std::string_view name_of(ClockLimit limit) {
  switch (limit) {
    case ClockLimit::power_limit: return "power limit";
    case ClockLimit::application_clocks: return "clocks set by a user";
    case ClockLimit::sync_boost: return "clocks held equal over GPUs";
    case ClockLimit::temperature: return "temperature";
    case ClockLimit::hardware_temperature: return "hardware temperature";
    case ClockLimit::power_brake: return "power brake";
    case ClockLimit::hardware_slowdown: return "hardware slowdown";
  }
  return "?";
}

std::string PowerReading::clock_reason() const {
  std::string words;
  for (const ClockLimit limit : clock_limits) words += (words.empty() ? "" : ", ") + std::string(name_of(limit));
  return words;
}

}  // namespace trainx
