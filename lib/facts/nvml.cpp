// NVML through dlopen with prototypes of our own: nvml.h is not in every toolkit, the library not on every machine.
#include "facts/nvml.hpp"
#include <dlfcn.h>
#include <array>
#include <memory>

namespace trainx::facts {
namespace {

using Return = int;                     // nvmlReturn_t; 0 is success
using Device = struct nvmlDevice_st*;

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace

std::vector<std::string> nvml_gpu_names() {
  const std::unique_ptr<void, CloseLibrary> library(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!library) return {};
  const auto init = symbol<Return()>(library.get(), "nvmlInit_v2");
  const auto shutdown = symbol<Return()>(library.get(), "nvmlShutdown");
  const auto count_of = symbol<Return(unsigned*)>(library.get(), "nvmlDeviceGetCount_v2");
  const auto device_at = symbol<Return(unsigned, Device*)>(library.get(), "nvmlDeviceGetHandleByIndex_v2");
  const auto name_of = symbol<Return(Device, char*, unsigned)>(library.get(), "nvmlDeviceGetName");
  if (!init || !shutdown || !count_of || !device_at || !name_of || init() != 0) return {};
  std::vector<std::string> names;
  unsigned count = 0;
  if (count_of(&count) == 0)
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      std::array<char, 96> name{};
      if (device_at(i, &device) == 0 && name_of(device, name.data(), name.size()) == 0) names.emplace_back(name.data());
    }
  shutdown();
  return names;
}

}  // namespace trainx::facts
