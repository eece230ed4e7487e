#include "core/power_reading.hpp"
#include <array>
#include <utility>

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

std::vector<ClockLimit> clock_limits_of(unsigned long long reasons) {
  static constexpr std::array<std::pair<unsigned long long, ClockLimit>, 6> bits{
      {{0x4, ClockLimit::power_limit},
       {0x2, ClockLimit::application_clocks},
       {0x10, ClockLimit::sync_boost},
       {0x20, ClockLimit::temperature},
       {0x40, ClockLimit::hardware_temperature},
       {0x80, ClockLimit::power_brake}}};
  std::vector<ClockLimit> limits;
  for (const auto& [bit, limit] : bits)
    if (reasons & bit) limits.push_back(limit);
  if ((reasons & 0x8) && !(reasons & (0x40 | 0x80)))
    limits.push_back(ClockLimit::hardware_slowdown);
  return limits;
}

std::string PowerReading::clock_reason() const {
  std::string words;
  for (const ClockLimit limit : clock_limits)
    words += (words.empty() ? "" : ", ") + std::string(name_of(limit));
  return words;
}

}  // namespace trainx
