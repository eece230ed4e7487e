#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx {

/// What holds a GPU's clock below its most.
enum class ClockLimit : std::uint8_t {
  power_limit,
  application_clocks,
  sync_boost,
  temperature,
  hardware_temperature,
  power_brake,
  hardware_slowdown
};
/// "power limit", "clocks set by a user", ...
std::string_view name_of(ClockLimit limit);
/// Of the bits that NVML tells (nvmlClocksEventReason). The hardware's slowdown has bits for its
/// causes; it is named itself where none of them is told.
std::vector<ClockLimit> clock_limits_of(unsigned long long reasons);

/// Energy, clock, load and memory of what computes. What cannot be read is nothing.
struct PowerReading {
  std::optional<double> joules;  // since the driver was loaded
  std::optional<double> watts;   // now
  // of all time so far, in which the power limit lowered the clock
  std::optional<double> capped_seconds;
  // of the multiprocessors: now, and the most that they do
  std::optional<std::int64_t> clock_mhz, highest_clock_mhz;
  std::vector<ClockLimit> clock_limits;  // now
  // share of the last moments (up to a second) in which a kernel ran
  std::optional<double> utilization;
  std::optional<double> memory_utilization;  // in which memory was read or written
  std::optional<std::int64_t> temperature_celsius;
  std::optional<std::int64_t> used_bytes, total_bytes;  // of the device's memory, by all processes

  /// "power limit, temperature"; "" where nothing holds the clock down.
  std::string clock_reason() const;
};

}  // namespace trainx
