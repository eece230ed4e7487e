#include "facts/nvml_library.hpp"

namespace trainx::facts {

std::optional<NvmlLibrary> NvmlLibrary::open(std::string& problem) {
  const BlockedSignals blocked;
  std::unique_ptr<void, CloseLibrary> library(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    const char* words = ::dlerror();
    problem = words ? words : "libnvidia-ml.so.1 cannot be loaded";
    return std::nullopt;
  }
  const auto init = reinterpret_cast<NvmlReturn (*)()>(::dlsym(library.get(), "nvmlInit_v2"));
  const auto words =
      reinterpret_cast<const char* (*)(NvmlReturn)>(::dlsym(library.get(), "nvmlErrorString"));
  if (const NvmlReturn code = init ? init() : 13; code != 0) {
    problem = "NVML does not begin: " +
              (words ? std::string(words(code)) : "error " + std::to_string(code));
    return std::nullopt;
  }
  return NvmlLibrary(library.release());
}

NvmlLibrary::~NvmlLibrary() {
  if (library_) call("nvmlShutdown");
}

std::string NvmlLibrary::words_for(NvmlReturn code) const {
  const auto words =
      reinterpret_cast<const char* (*)(NvmlReturn)>(::dlsym(library_.get(), "nvmlErrorString"));
  return words ? words(code) : "error " + std::to_string(code);
}

unsigned NvmlLibrary::device_count() const {
  unsigned count = 0;
  return call("nvmlDeviceGetCount_v2", &count) == 0 ? count : 0;
}

std::optional<NvmlDevice> NvmlLibrary::device(unsigned index) const {
  NvmlDevice device = nullptr;
  if (call("nvmlDeviceGetHandleByIndex_v2", index, &device) != 0) return std::nullopt;
  return device;
}

std::optional<std::string> NvmlLibrary::name_of(NvmlDevice device) const {
  std::array<char, 96> name{};
  if (call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size())) != 0)
    return std::nullopt;
  return name.data();
}

}  // namespace trainx::facts
