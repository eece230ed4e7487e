#include "doctor/nvml_device.hpp"
#include "facts/gpu_hardware.hpp"
#include "facts/nvml.hpp"
#include "facts/nvml_links.hpp"
#include "facts/nvml_pci.hpp"
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace trainx::doctor {

using namespace facts;
namespace {

constexpr NvmlReturn not_supported = 3;
constexpr unsigned multiprocessors = 1, die = 0, corrected = 0, uncorrected = 1, since_load = 0;
constexpr unsigned not_available = ~0U;

// nvmlMemory_t
struct Memory {
  unsigned long long total, free, used;
};
// nvmlProcessInfo_t
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
/// One GPU's answers: a failure other than 'not supported' is noted under the field.
struct Asked {
  const NvmlLibrary& nvml;
  NvmlDevice device;
  Unread& unread;

  bool fine(NvmlReturn code, const char* field) const {
    if (code != 0 && code != not_supported) unread[field] = nvml.words_for(code);
    return code == 0;
  }
  template <class... Which>
  std::optional<std::int64_t> number(const char* field, const char* function,
                                     Which... which) const {
    unsigned value = 0;
    if (!fine(nvml.call(function, device, which..., &value), field) || value == not_available)
      return std::nullopt;
    return value;
  }
  std::optional<std::int64_t> errors(const char* field, unsigned kind) const {
    unsigned long long value = 0;
    if (!fine(nvml.call("nvmlDeviceGetTotalEccErrors", device, kind, since_load, &value), field))
      return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  std::optional<bool> mode(const char* field, const char* function) const {
    unsigned now = 0, next = 0;  // after a reset
    if (!fine(nvml.call(function, device, &now, &next), field)) return std::nullopt;
    return now != 0;
  }
};

std::vector<GpuProcess> ask_processes(const Asked& asked, const Roots& roots) {
  std::vector<Process> told(256);
  auto count = static_cast<unsigned>(told.size());
  if (!asked.fine(asked.nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", asked.device, &count,
                                  told.data()),
                  "processes"))
    return {};
  told.resize(std::min<std::size_t>(count, told.size()));
  std::vector<GpuProcess> processes;
  for (const Process& p : told) {
    Unread ignored;
    GpuProcess process{
        p.pid,
        text_of(roots.proc + "/" + std::to_string(p.pid) + "/comm", "", ignored).value_or(""),
        std::nullopt};
    if (p.bytes != ~0ULL) process.memory_bytes = static_cast<std::int64_t>(p.bytes);
    processes.push_back(process);
  }
  return processes;
}

const char* name_of_mode(std::int64_t mode) {  // nvmlComputeMode_t
  return mode == 0   ? "default"
         : mode == 2 ? "prohibited"
         : mode == 3 ? "exclusive process"
                     : "exclusive thread";
}

const char* name_of_path(unsigned level) {  // nvmlGpuTopologyLevel_t
  switch (level) {
    case 0: return "one board";
    case 10: return "one PCIe switch";
    case 20: return "several PCIe switches";
    case 30: return "one PCIe host bridge";
    case 40: return "one NUMA node";
    case 50: return "between NUMA nodes";
    default: return "unknown";
  }
}

const char* name_of_access(unsigned status) {  // nvmlGpuP2PStatus_t
  switch (status) {
    case 0: return "ok";
    case 1: return "not with this chipset";
    case 2: return "not with these GPUs";
    case 3: return "not across these I/O hubs";
    case 4: return "disabled in the driver's settings";
    case 5: return "not supported";
    default: return "unknown";
  }
}

}  // namespace

GpuFacts ask_device(const NvmlLibrary& nvml, NvmlDevice device, const Roots& roots) {
  GpuFacts gpu;
  gpu.name = nvml.name_of(device).value_or("unknown GPU");
  const Asked asked{nvml, device, gpu.unread};
  if (NvmlPciInfo pci{}; asked.fine(nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci), "address"))
    gpu.address = kernel_address(pci);
  if (Memory memory{};
      asked.fine(nvml.call("nvmlDeviceGetMemoryInfo", device, &memory), "memory_bytes"))
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total),
    gpu.memory_used_bytes = static_cast<std::int64_t>(memory.used);
  gpu.clock_mhz = asked.number("clock_mhz", "nvmlDeviceGetClockInfo", multiprocessors);
  gpu.most_clock_mhz = asked.number("most_clock_mhz", "nvmlDeviceGetMaxClockInfo", multiprocessors);
  if (const auto milliwatts = asked.number("watts", "nvmlDeviceGetPowerUsage"))
    gpu.watts = static_cast<double>(*milliwatts) / 1e3;
  if (const auto milliwatts = asked.number("most_watts", "nvmlDeviceGetEnforcedPowerLimit"))
    gpu.most_watts = static_cast<double>(*milliwatts) / 1e3;
  gpu.celsius = asked.number("celsius", "nvmlDeviceGetTemperature", die);
  // 32: unknown
  if (const auto state = asked.number("performance_state", "nvmlDeviceGetPerformanceState");
      state && *state <= 15)
    gpu.performance_state = state;
  unsigned long long reasons = 0;
  NvmlReturn told = nvml.call("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons);
  // its name before driver 535
  if (told != 0) told = nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons);
  if (asked.fine(told, "clock_limits")) gpu.clock_limits = clock_limits_of(reasons);
  gpu.ecc = asked.mode("ecc", "nvmlDeviceGetEccMode");
  MemoryErrors& errors = gpu.memory_errors;
  if (gpu.ecc.value_or(false)) {
    errors.corrected = asked.errors("ecc_corrected", corrected);
    errors.uncorrected = asked.errors("ecc_uncorrected", uncorrected);
  }
  unsigned by_corrected = 0, by_uncorrected = 0, pending = 0, failed = 0;
  if (asked.fine(nvml.call("nvmlDeviceGetRemappedRows", device, &by_corrected, &by_uncorrected,
                           &pending, &failed),
                 "row_remap_failed"))
    errors.row_remap_failed = failed != 0, errors.row_remap_pending = pending != 0;
  // GPUs before those that remap rows
  if (unsigned pages = 0; !errors.row_remap_failed &&
                          nvml.call("nvmlDeviceGetRetiredPagesPendingStatus", device, &pages) == 0)
    errors.page_retirement_pending = pages != 0;
  gpu.pcie = {asked.number("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
              asked.number("pcie_most_generation", "nvmlDeviceGetMaxPcieLinkGeneration"),
              asked.number("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
              asked.number("pcie_most_width", "nvmlDeviceGetMaxPcieLinkWidth")};
  if (const auto mode = asked.number("compute_mode", "nvmlDeviceGetComputeMode"))
    gpu.compute_mode = name_of_mode(*mode);
  gpu.mig = asked.mode("mig", "nvmlDeviceGetMigMode");
  int major = 0, minor = 0;
  if (asked.fine(nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor),
                 "compute_capability"))
    gpu.compute_capability = major * 10 + minor;
  if (const auto known = hardware_of(ask_gpu(nvml, device, gpu.name)))
    gpu.rates = known->is_estimated ? "estimated" : "measured";
  if (gpu.address) {
    const auto node = number_of(roots.sys + "/bus/pci/devices/" + *gpu.address + "/numa_node",
                                "numa_node", gpu.unread);
    // -1: the machine has one, or its firmware does not tell
    if (node && *node >= 0) gpu.numa_node = node;
  }
  gpu.nvlink = ask_nvlinks(nvml, device);
  gpu.processes = ask_processes(asked, roots);
  return gpu;
}

GpuPairFacts ask_pair(const NvmlLibrary& nvml, NvmlDevice a, NvmlDevice b, const GpuFacts& first,
                      const GpuFacts& second) {
  GpuPairFacts pair;
  if (first.nvlink && second.nvlink)
    pair.nvlinks = first.nvlink->links_to(second.address.value_or(""), *second.nvlink);
  unsigned level = 0;
  if (nvml.call("nvmlDeviceGetTopologyCommonAncestor", a, b, &level) == 0)
    pair.path = name_of_path(level);
  if (const auto status = ask_peer_access(nvml, a, b)) pair.peer_access = name_of_access(*status);
  return pair;
}

}  // namespace trainx::doctor
