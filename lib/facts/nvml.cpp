#include "facts/nvml.hpp"
#include "facts/nvml_library.hpp"
#include "facts/nvml_links.hpp"
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

namespace {

/// Of each to all others.
void ask_links_between(const NvmlLibrary& nvml, const std::vector<NvmlDevice>& devices,
                       std::vector<Gpu>& gpus) {
  std::vector<std::optional<NvlinkFacts>> nvlinks;
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    GpuLinks& links = gpus[a].links;
    nvlinks.push_back(ask_nvlinks(nvml, devices[a]));
    if (nvlinks[a]) links.nvlink_bytes_per_s = nvlinks[a]->bytes_per_second.value_or(0);
    unsigned number = 0;
    // an idle GPU has a lower generation at the moment, but all of its lanes
    if (nvml.call("nvmlDeviceGetMaxPcieLinkGeneration", devices[a], &number) == 0)
      links.pcie_generation = number;
    if (nvml.call("nvmlDeviceGetCurrPcieLinkWidth", devices[a], &number) == 0)
      links.pcie_width = number;
  }
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = 0; b < gpus.size(); ++b) {
      const bool have_nvlinks = a != b && nvlinks[a] && nvlinks[b];
      gpus[a].links.nvlinks.push_back(
          have_nvlinks ? nvlinks[a]->links_to(gpus[b].address, *nvlinks[b]) : 0);
      const auto access = a == b ? std::optional(0U)
                                 : ask_peer_access(nvml, devices[a], devices[b]);
      if (access) gpus[a].links.reaches.push_back(*access == 0);
    }
  for (Gpu& gpu : gpus)
    if (gpu.links.reaches.size() < gpus.size()) gpu.links.reaches.clear();
}

}  // namespace

std::vector<Gpu> nvml_gpus() {
  std::string problem;
  const auto nvml = NvmlLibrary::open(problem);
  if (!nvml) return {};
  std::vector<Gpu> gpus;
  std::vector<NvmlDevice> devices;
  for (unsigned i = 0; i < nvml->device_count(); ++i) {
    const auto device = nvml->device(i);
    if (auto name = device ? nvml->name_of(*device) : std::nullopt) {
      gpus.push_back(ask_gpu(*nvml, *device, *std::move(name)));
      devices.push_back(*device);
    }
  }
  ask_links_between(*nvml, devices, gpus);
  return gpus;
}

}  // namespace trainx::facts
