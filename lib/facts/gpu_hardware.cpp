#include "facts/gpu_hardware.hpp"

namespace trainx::facts {

std::optional<hardware::Hardware> hardware_of(const Gpu& gpu) {
  return hardware::find_hardware({gpu.compute_capability, gpu.memory_bytes, gpu.cores,
                                  gpu.clock_mhz * 1e6,
                                  static_cast<double>(gpu.memory_bytes_per_s)});
}

}  // namespace trainx::facts
