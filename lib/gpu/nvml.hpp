// NVML with prototypes of our own: nvml.h is not in every toolkit, and no version of the library
// has every function.
#pragma once
#include <cstdint>
#include "core/memory_errors.hpp"
#include "core/power_reading.hpp"

namespace trainx::gpu {

using NvmlReturn = int;  // nvmlReturn_t; 0 is success
using NvmlDevice = struct nvmlDevice_st*;
// nvmlViolationTime_t
struct NvmlViolationTime {
  unsigned long long reference_us, violation_ns;
};
// nvmlProcessInfo_t
struct NvmlProcess {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
// nvmlUtilization_t: percent
struct NvmlUtilization {
  unsigned gpu, memory;
};
// nvmlMemory_t
struct NvmlMemory {
  unsigned long long total, free, used;
};

/// What is asked of a device; a function that the library lacks is null, and what it tells is
/// nothing.
struct NvmlFunctions {
  NvmlReturn (*energy)(NvmlDevice, unsigned long long* millijoules) = nullptr;
  NvmlReturn (*power)(NvmlDevice, unsigned* milliwatts) = nullptr;
  NvmlReturn (*violation)(NvmlDevice, int policy, NvmlViolationTime*) = nullptr;
  NvmlReturn (*clock)(NvmlDevice, int type, unsigned* mhz) = nullptr;
  NvmlReturn (*highest_clock)(NvmlDevice, int type, unsigned* mhz) = nullptr;
  NvmlReturn (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice, int sensor, unsigned* celsius) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlReturn (*ecc_mode)(NvmlDevice, unsigned* now, unsigned* after_reset) = nullptr;
  NvmlReturn (*ecc_errors)(NvmlDevice, unsigned kind, unsigned since,
                           unsigned long long* count) = nullptr;
  NvmlReturn (*remapped_rows)(NvmlDevice, unsigned* by_corrected, unsigned* by_uncorrected,
                              unsigned* pending, unsigned* failed) = nullptr;
  NvmlReturn (*processes)(NvmlDevice, unsigned* count, NvmlProcess*) = nullptr;
};
/// Those that `library` (of dlopen) has.
NvmlFunctions load_nvml_functions(void* library);

PowerReading read_power(const NvmlFunctions& nvml, NvmlDevice device);
MemoryErrors read_memory_errors(const NvmlFunctions& nvml, NvmlDevice device);

}  // namespace trainx::gpu
