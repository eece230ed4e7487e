#include "facts/nvml.hpp"
#include "facts/nvml_library.hpp"
#include "facts/nvml_pci.hpp"

namespace trainx::facts {

Gpu ask_gpu(const NvmlLibrary& nvml, NvmlDevice device, std::string name) {
  struct Memory {  // nvmlMemory_t
    unsigned long long total, free, used;
  };
  constexpr unsigned of_multiprocessors = 1, of_memory = 2;  // nvmlClockType_t
  Gpu gpu{.name = std::move(name)};
  int major = 0, minor = 0;
  if (nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor) == 0)
    gpu.compute_capability = major * 10 + minor;
  if (Memory memory{}; nvml.call("nvmlDeviceGetMemoryInfo", device, &memory) == 0)
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  if (NvmlPciInfo pci{}; nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci) == 0)
    gpu.address = kernel_address(pci);
  unsigned number = 0, width = 0;
  if (nvml.call("nvmlDeviceGetNumGpuCores", device, &number) == 0)
    gpu.cores = static_cast<int>(number);
  if (nvml.call("nvmlDeviceGetMaxClockInfo", device, of_multiprocessors, &number) == 0)
    gpu.clock_mhz = static_cast<int>(number);
  // two transfers a clock
  if (nvml.call("nvmlDeviceGetMaxClockInfo", device, of_memory, &number) == 0 &&
      nvml.call("nvmlDeviceGetMemoryBusWidth", device, &width) == 0)
    gpu.memory_bytes_per_s = std::int64_t{number} * 1'000'000 * 2 * (width / 8);
  return gpu;
}

std::vector<Gpu> nvml_gpus() {
  std::string problem;
  const auto nvml = NvmlLibrary::open(problem);
  if (!nvml) return {};
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < nvml->device_count(); ++i) {
    const auto device = nvml->device(i);
    if (auto name = device ? nvml->name_of(*device) : std::nullopt)
      gpus.push_back(ask_gpu(*nvml, *device, *std::move(name)));
  }
  return gpus;
}

}  // namespace trainx::facts
