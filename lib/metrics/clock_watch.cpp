#include "metrics/clock_watch.hpp"
#include <algorithm>

namespace trainx::metrics {
namespace {

std::string advice_on(ClockLimit limit) {
  switch (limit) {
    case ClockLimit::temperature:
    case ClockLimit::hardware_temperature: return "it is too hot; its cooling wants a look";
    case ClockLimit::power_brake:
      return "the server asks it to take less power; its power supplies want a look";
    case ClockLimit::hardware_slowdown:
      return "the hardware slows it down; nvidia-smi -q -d PERFORMANCE says more";
    case ClockLimit::application_clocks:
      return "clocks were set with nvidia-smi; nvidia-smi -rac and -rgc take them back";
    case ClockLimit::sync_boost:
      return "it runs as fast as the slowest of the GPUs that it is grouped with";
    case ClockLimit::power_limit: break;
  }
  return "";
}

}  // namespace

bool is_held_down(const PowerReading& reading) {
  return std::ranges::any_of(reading.clock_limits,
                             [](ClockLimit limit) { return limit != ClockLimit::power_limit; });
}

std::vector<std::string> ClockWatch::news(const PowerReading& reading) {
  std::vector<std::string> sentences;
  for (const ClockLimit limit : reading.clock_limits) {
    if (limit == ClockLimit::power_limit || !told_.insert(limit).second) continue;
    std::string sentence = "the GPU's clock is held down";
    if (reading.clock_mhz)
      sentence +=
          " to " + std::to_string(*reading.clock_mhz) +
          (reading.highest_clock_mhz ? " of " + std::to_string(*reading.highest_clock_mhz) : "") +
          " MHz";
    sentence += " (" + std::string(name_of(limit)) +
                (reading.temperature_celsius
                     ? ", " + std::to_string(*reading.temperature_celsius) + " C"
                     : "") +
                "): " + advice_on(limit);
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace trainx::metrics
