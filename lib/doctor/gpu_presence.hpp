#pragma once
#include "facts/roots.hpp"
#include <cstdint>
#include <string>

namespace trainx::doctor {

using namespace facts;

/// Signs of an NVIDIA GPU that need no driver library: they tell 'no GPU' from 'a GPU without a
/// driver'.
struct GpuPresence {
  std::int64_t pci_devices = 0;   // display and 3D controllers of vendor 10de
  std::int64_t device_files = 0;  // /dev/nvidia0, ...
  bool driver_loaded = false;     // /proc/driver/nvidia/version
  bool any() const { return pci_devices > 0 || device_files > 0 || driver_loaded; }
  /// "2 PCI devices of NVIDIA, /dev/nvidia*".
  std::string signs() const;
};

GpuPresence detect_gpu_presence(const Roots& roots);

}  // namespace trainx::doctor
