// Energy, power, clock, load, memory and its errors of a GPU, from NVML. What cannot be read is
// nothing.
#pragma once
#include <cstdint>
#include <memory>
#include "core/memory_errors.hpp"
#include "core/power_reading.hpp"

namespace trainx::gpu {

class PowerMeter {
 public:
  struct State;
  /// Of the current CUDA device.
  PowerMeter();
  ~PowerMeter();
  PowerMeter(const PowerMeter&) = delete;
  PowerMeter& operator=(const PowerMeter&) = delete;
  PowerReading read() const;
  MemoryErrors memory_errors() const;
  /// Device memory of this process as the driver sees it; nothing where it does not tell.
  std::optional<std::int64_t> process_bytes() const;
  /// Who holds the device's memory beside this process: "process 4242 61 GiB, ..."; "" where the
  /// driver does not tell.
  std::string others() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace trainx::gpu
