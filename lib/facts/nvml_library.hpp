// NVML through dlopen with prototypes of our own: nvml.h is not in every toolkit, the library not
// on every machine, a function not in every version.
#pragma once
#include "core/blocked_signals.hpp"
#include <dlfcn.h>
#include <array>
#include <memory>
#include <optional>
#include <string>

namespace trainx::facts {

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

using NvmlReturn = int;  // nvmlReturn_t; 0 is success
using NvmlDevice = struct nvmlDevice_st*;

/// The library, begun; ended with the object.
class NvmlLibrary {
 public:
  /// Nothing where the library is missing or does not begin; `problem` then says which, in NVML's
  /// words.
  static std::optional<NvmlLibrary> open(std::string& problem);
  ~NvmlLibrary();
  NvmlLibrary(NvmlLibrary&&) = default;
  NvmlLibrary& operator=(NvmlLibrary&&) = delete;

  /// Calls `name` with the arguments; 13, "function not found", where the library lacks it.
  template <class... Parameters>
  NvmlReturn call(const char* name, Parameters... arguments) const {
    const BlockedSignals blocked;  // the driver may start threads
    const auto function =
        reinterpret_cast<NvmlReturn (*)(Parameters...)>(::dlsym(library_.get(), name));
    return function ? function(arguments...) : 13;
  }
  /// NVML's words for what a call returned.
  std::string words_for(NvmlReturn code) const;

  unsigned device_count() const;
  std::optional<NvmlDevice> device(unsigned index) const;
  std::optional<std::string> name_of(NvmlDevice device) const;

 private:
  explicit NvmlLibrary(void* library) : library_(library) {}
  std::unique_ptr<void, CloseLibrary> library_;
};

}  // namespace trainx::facts
