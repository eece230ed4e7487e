#include "facts/gpu_hardware.hpp"
#include "hardware/generation.hpp"
#include <algorithm>
#include <limits>

namespace trainx::facts {
namespace {

/// Each way, after encoding; 0: not told.
double pcie_bytes_per_s(const GpuLinks& links) {
  // of a lane: doubled by each generation from the third on
  constexpr double of_third = hardware::pcie3_bytes_per_s / 16;
  if (links.pcie_generation <= 0 || links.pcie_width <= 0) return 0;
  double lane = links.pcie_generation == 1 ? 0.25e9 : links.pcie_generation == 2 ? 0.5e9 : of_third;
  for (std::int64_t g = 3; g < std::min<std::int64_t>(links.pcie_generation, 7); ++g) lane *= 2;
  return lane * static_cast<double>(std::min<std::int64_t>(links.pcie_width, 16));
}

}  // namespace

std::optional<hardware::Hardware> hardware_of(const Gpu& gpu) {
  return hardware::find_hardware({gpu.compute_capability, gpu.memory_bytes, gpu.cores,
                                  gpu.clock_mhz * 1e6,
                                  static_cast<double>(gpu.memory_bytes_per_s)});
}

std::optional<hardware::Links> links_of(const HardwareFacts& facts, std::int64_t ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  if (ranks < 2 || count > facts.gpus.size()) return std::nullopt;
  // NVML tells the rate of the wires, of which 16 of 17 parts carry bytes: 26.56e9 are 25e9
  constexpr double carries_bytes = 16.0 / 17;
  double pcie = std::numeric_limits<double>::infinity(), nvlink = pcie;
  bool reach = true;
  for (std::size_t a = 0; a < count; ++a) {
    const GpuLinks& links = facts.gpus[a].links;
    if (links.nvlinks.size() < count || links.reaches.size() < count) return std::nullopt;
    pcie = std::min(pcie, pcie_bytes_per_s(links));
    for (std::size_t b = 0; b < count; ++b) {
      if (a == b) continue;
      reach = reach && links.reaches[b];
      nvlink = std::min(
          nvlink, static_cast<double>(links.nvlinks[b]) * links.nvlink_bytes_per_s * carries_bytes);
    }
  }
  using hardware::LinkKind;
  if (!facts.peers_are_off && reach && nvlink > 0) return hardware::Links{LinkKind::nvlink, nvlink};
  if (pcie <= 0) return std::nullopt;
  return hardware::Links{reach && !facts.peers_are_off ? LinkKind::pcie : LinkKind::host, pcie};
}

}  // namespace trainx::facts
