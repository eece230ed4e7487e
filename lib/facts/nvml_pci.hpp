// Where a GPU is on the PCI bus, as NVML tells it.
#pragma once
#include <string>

namespace trainx::facts {

/// nvmlPciInfo_t
struct NvmlPciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem;
  char address[32];
};

/// NVML's "00000000:17:00.0" as the kernel writes it: "0000:17:00.0".
std::string kernel_address(const NvmlPciInfo& pci);

}  // namespace trainx::facts
