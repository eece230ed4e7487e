#include "doctor/gpu_presence.hpp"
#include "facts/lines.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::doctor {

using namespace facts;

namespace fs = std::filesystem;

std::string GpuPresence::signs() const {
  return joined({pci_devices > 0 ? counted(pci_devices, "PCI device") + " of NVIDIA" : "",
                 device_files > 0 ? "/dev/nvidia0" : "",
                 driver_loaded ? "a loaded kernel driver" : ""});
}

GpuPresence detect_gpu_presence(const Roots& roots) {
  GpuPresence found;
  std::error_code none;
  for (const auto& device : fs::directory_iterator(roots.sys + "/bus/pci/devices", none)) {
    Unread ignored;
    const auto vendor = text_of(device.path().string() + "/vendor", "", ignored),
               kind = text_of(device.path().string() + "/class", "", ignored);
    // Its sound and USB devices, bridges and switches are of the same vendor.
    if (vendor == "0x10de" && kind && kind->starts_with("0x03")) ++found.pci_devices;
  }
  for (const auto& file : fs::directory_iterator(roots.dev, none)) {
    const std::string name = file.path().filename().string();
    if (name.size() > 6 && name.starts_with("nvidia") &&
        std::ranges::all_of(name.substr(6), [](char c) { return c >= '0' && c <= '9'; }))
      ++found.device_files;
  }
  found.driver_loaded = fs::exists(roots.proc + "/driver/nvidia/version", none);
  return found;
}

}  // namespace trainx::doctor
