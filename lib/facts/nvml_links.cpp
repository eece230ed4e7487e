#include "facts/nvml_links.hpp"
#include "facts/nvml_pci.hpp"
#include <algorithm>

namespace trainx::facts {
namespace {

// NVML_NVLINK_MAX_LINKS; a GPU has at most 18 so far
constexpr unsigned most_links = 36;

// nvmlFieldValue_t
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  // 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long
  unsigned type;
  NvmlReturn code;
  union {
    double d;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
  } value;
};
// NVML_FI_DEV_NVLINK_GET_SPEED, ..._SPEED_MBPS_COMMON
constexpr unsigned speed_of_link = 164, speed_of_links = 90;

std::optional<double> link_speed(const NvmlLibrary& nvml, NvmlDevice device, unsigned link) {
  for (const unsigned field : {speed_of_link, speed_of_links}) {
    FieldValue value{};
    value.field = field;
    value.scope = field == speed_of_link ? link : 0;
    if (nvml.call("nvmlDeviceGetFieldValues", device, 1, &value) != 0 || value.code != 0) continue;
    const double megabytes = value.type == 0   ? value.value.d
                             : value.type == 1 ? value.value.u
                                               : static_cast<double>(value.value.ull);
    if (megabytes > 0) return megabytes * 1e6;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NvlinkFacts> ask_nvlinks(const NvmlLibrary& nvml, NvmlDevice device) {
  constexpr unsigned to_a_switch = 2;
  NvlinkFacts links;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned active = 0, kind = 255;
    // no such link
    if (nvml.call("nvmlDeviceGetNvLinkState", device, link, &active) != 0) continue;
    if (!active) {
      ++links.inactive;
      continue;
    }
    ++links.active;
    if (!links.bytes_per_second) links.bytes_per_second = link_speed(nvml, device, link);
    NvmlPciInfo pci{};
    if (nvml.call("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &kind) == 0 &&
        kind == to_a_switch)
      ++links.to_switches;
    else if (nvml.call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &pci) == 0)
      links.peers.push_back(kernel_address(pci));
  }
  return links.active + links.inactive > 0 ? std::optional(links) : std::nullopt;
}

std::int64_t NvlinkFacts::links_to(std::string_view address, const NvlinkFacts& other) const {
  return std::ranges::count(peers, address) + std::min(to_switches, other.to_switches);
}

std::optional<unsigned> ask_peer_access(const NvmlLibrary& nvml, NvmlDevice a, NvmlDevice b) {
  constexpr unsigned read_access = 0;
  unsigned status = 0;
  if (nvml.call("nvmlDeviceGetP2PStatus", a, b, read_access, &status) != 0) return std::nullopt;
  return status;
}

}  // namespace trainx::facts
