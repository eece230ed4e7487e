// NVLinks of a GPU and ways between two, as NVML tells them.
#pragma once
#include "facts/nvml_library.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::facts {

struct NvlinkFacts {
  std::int64_t active = 0, inactive = 0;   // links
  std::optional<double> bytes_per_second;  // of one link and direction
  std::int64_t to_switches = 0;            // active links that end in an NVSwitch
  // PCI address of the GPU at the other end, an entry for each link that has one
  std::vector<std::string> peers;

  /// To a GPU at this address with links of its own: directly, or through switches as many as both
  /// have.
  std::int64_t links_to(std::string_view address, const NvlinkFacts& other) const;
};

/// Nothing where the GPU has none.
std::optional<NvlinkFacts> ask_nvlinks(const NvmlLibrary& nvml, NvmlDevice device);

/// nvmlGpuP2PStatus_t of reads of one another's memory; 0: they can. Nothing where NVML does not
/// tell.
std::optional<unsigned> ask_peer_access(const NvmlLibrary& nvml, NvmlDevice a, NvmlDevice b);

}  // namespace trainx::facts
