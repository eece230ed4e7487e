#include "doctor/gpus.hpp"
#include "hardware/support.hpp"
#include "doctor/nvml_device.hpp"
#include <array>
#include <cstdlib>

namespace trainx::doctor {

using namespace facts;

GpusFacts detect_gpus(const Roots& roots, const std::string& built_cuda) {
  GpusFacts facts;
  facts.presence = detect_gpu_presence(roots);
  facts.built_cuda = built_cuda;
  facts.built_architectures = hardware::built_architectures();
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) facts.visible = visible;
  const auto nvml = NvmlLibrary::open(facts.driver_problem);
  if (!nvml) return facts;
  std::array<char, 80> version{};
  if (const NvmlReturn code = nvml->call("nvmlSystemGetDriverVersion", version.data(),
                                         static_cast<unsigned>(version.size()));
      code == 0)
    facts.driver = version.data();
  else
    facts.unread["driver"] = nvml->words_for(code);
  int cuda = 0;
  if (const NvmlReturn code = nvml->call("nvmlSystemGetCudaDriverVersion_v2", &cuda); code == 0)
    facts.cuda = cuda;
  else
    facts.unread["cuda"] = nvml->words_for(code);
  std::vector<NvmlDevice> devices;
  for (unsigned i = 0; i < nvml->device_count(); ++i) {
    NvmlDevice device = nullptr;
    if (const NvmlReturn code = nvml->call("nvmlDeviceGetHandleByIndex_v2", i, &device);
        code != 0) {
      facts.lost.push_back({i, nvml->words_for(code)});
      continue;
    }
    devices.push_back(device);
    facts.gpus.push_back(ask_device(*nvml, device, roots));
  }
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t k = i + 1; k < devices.size(); ++k) {
      facts.pairs.push_back(ask_pair(*nvml, devices[i], devices[k], facts.gpus[i], facts.gpus[k]));
      facts.pairs.back().first = i, facts.pairs.back().second = k;
    }
  return facts;
}

}  // namespace trainx::doctor
