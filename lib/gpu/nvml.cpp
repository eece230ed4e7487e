#include "gpu/nvml.hpp"
#include <dlfcn.h>

namespace trainx::gpu {
namespace {

template <class Function>
void load(void* library, Function*& function, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!function) function = reinterpret_cast<Function*>(::dlsym(library, name));
}

/// What `function` writes of the device; nothing where it is missing or fails.
template <class Value, class Function, class... Which>
std::optional<Value> asked(Function function, NvmlDevice device, Which... which) {
  Value value{};
  if (!function || function(device, which..., &value) != 0) return std::nullopt;
  return value;
}

}  // namespace

NvmlFunctions load_nvml_functions(void* library) {
  NvmlFunctions f;
  load(library, f.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  load(library, f.power, {"nvmlDeviceGetPowerUsage"});
  load(library, f.violation, {"nvmlDeviceGetViolationStatus"});
  load(library, f.clock, {"nvmlDeviceGetClockInfo"});
  load(library, f.highest_clock, {"nvmlDeviceGetMaxClockInfo"});
  load(library, f.reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  load(library, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  load(library, f.temperature, {"nvmlDeviceGetTemperature"});
  load(library, f.memory, {"nvmlDeviceGetMemoryInfo"});
  load(library, f.ecc_mode, {"nvmlDeviceGetEccMode"});
  load(library, f.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  load(library, f.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  load(library, f.processes, {"nvmlDeviceGetComputeRunningProcesses_v3"});
  return f;
}

PowerReading read_power(const NvmlFunctions& nvml, NvmlDevice device) {
  constexpr int power_policy = 0, multiprocessors = 1, die = 0;
  PowerReading out;
  if (const auto millijoules = asked<unsigned long long>(nvml.energy, device))
    out.joules = static_cast<double>(*millijoules) / 1e3;
  if (const auto milliwatts = asked<unsigned>(nvml.power, device)) out.watts = *milliwatts / 1e3;
  if (const auto violation = asked<NvmlViolationTime>(nvml.violation, device, power_policy))
    out.capped_seconds = static_cast<double>(violation->violation_ns) / 1e9;
  out.clock_mhz = asked<unsigned>(nvml.clock, device, multiprocessors);
  out.highest_clock_mhz = asked<unsigned>(nvml.highest_clock, device, multiprocessors);
  if (const auto reasons = asked<unsigned long long>(nvml.reasons, device))
    out.clock_limits = clock_limits_of(*reasons);
  if (const auto percent = asked<NvmlUtilization>(nvml.utilization, device))
    out.utilization = percent->gpu / 100.0, out.memory_utilization = percent->memory / 100.0;
  out.temperature_celsius = asked<unsigned>(nvml.temperature, device, die);
  if (const auto bytes = asked<NvmlMemory>(nvml.memory, device))
    out.used_bytes = static_cast<std::int64_t>(bytes->used),
    out.total_bytes = static_cast<std::int64_t>(bytes->total);
  return out;
}

MemoryErrors read_memory_errors(const NvmlFunctions& nvml, NvmlDevice device) {
  constexpr unsigned corrected = 0, uncorrected = 1, since_load = 0;
  MemoryErrors out;
  unsigned on = 0, after_reset = 0;
  if (nvml.ecc_mode && nvml.ecc_mode(device, &on, &after_reset) == 0 && on != 0) {
    out.corrected = asked<unsigned long long>(nvml.ecc_errors, device, corrected, since_load);
    out.uncorrected = asked<unsigned long long>(nvml.ecc_errors, device, uncorrected, since_load);
  }
  unsigned by_corrected = 0, by_uncorrected = 0, pending = 0, failed = 0;
  if (nvml.remapped_rows &&
      nvml.remapped_rows(device, &by_corrected, &by_uncorrected, &pending, &failed) == 0)
    out.row_remap_failed = failed != 0, out.row_remap_pending = pending != 0;
  return out;
}

}  // namespace trainx::gpu
