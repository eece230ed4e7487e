#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace trainx {

/// Energy and clock of what computes. What cannot be read is nothing.
struct PowerReading {
  std::optional<double> joules;         // since the driver was loaded
  std::optional<double> capped_seconds; // of all time so far, in which the power limit lowered the clock
  std::optional<std::int64_t> clock_mhz;   // of the multiprocessors, now
  std::string clock_reason;             // why the clock is below its most, "" where it is not: "power limit", "temperature", ...
};

}  // namespace trainx
