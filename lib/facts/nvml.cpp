#include "facts/nvml.hpp"
#include "facts/nvml_library.hpp"

namespace trainx::facts {

std::vector<std::string> nvml_gpu_names() {
  std::string problem;
  const auto nvml = NvmlLibrary::open(problem);
  if (!nvml) return {};
  std::vector<std::string> names;
  for (unsigned i = 0; i < nvml->device_count(); ++i)
    if (const auto device = nvml->device(i))
      if (auto name = nvml->name_of(*device)) names.push_back(std::move(*name));
  return names;
}

}  // namespace trainx::facts
