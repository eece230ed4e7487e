#include "facts/nvml.hpp"
#include "facts/nvml_library.hpp"

namespace trainx::facts {

std::vector<Gpu> nvml_gpus() {
  std::string problem;
  const auto nvml = NvmlLibrary::open(problem);
  if (!nvml) return {};
  struct Memory {  // nvmlMemory_t
    unsigned long long total, free, used;
  };
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < nvml->device_count(); ++i) {
    const auto device = nvml->device(i);
    auto name = device ? nvml->name_of(*device) : std::nullopt;
    if (!name) continue;
    Gpu& gpu = gpus.emplace_back(Gpu{.name = std::move(*name)});
    int major = 0, minor = 0;
    if (nvml->call("nvmlDeviceGetCudaComputeCapability", *device, &major, &minor) == 0)
      gpu.compute_capability = major * 10 + minor;
    if (Memory memory{}; nvml->call("nvmlDeviceGetMemoryInfo", *device, &memory) == 0)
      gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  }
  return gpus;
}

}  // namespace trainx::facts
