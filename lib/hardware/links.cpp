#include "hardware/links.hpp"
#include "core/error.hpp"
#include <array>
#include <string>
#include <utility>

namespace trainx::hardware {
namespace {

constexpr std::array<std::pair<LinkKind, std::string_view>, 3> kinds{
    {{LinkKind::nvlink, "nvlink"}, {LinkKind::pcie, "pcie"}, {LinkKind::host, "host"}}};

// Beside matrix products between two H100s, on 16 multiprocessors as ddp has it: sums 137e9 bytes a
// second each way and gathers 105e9, of 450e9 of the data sheet; on 32, as steps in shards have it
// whose gathers are copies: sums 173e9. Copies by the GPUs' engines, which take no multiprocessor:
// 370e9 (bench/device/links.py, bench/results/h100/links.json).
constexpr double nvlink4 = 450e9, sum_share = 137e9 / nvlink4, copy_share = 370e9 / nvlink4,
                 gather_share = 105.0 / 137, more_speedup = 173.0 / 137;

// Through the host's memory, of PCIe's rate: NCCL's kernels took 18.26 ms for the 498 MB that ddp
// sums, 27.3e9 of 63e9 bytes a second (guide-ddp-bf16-no-p2p of tests/data/measured/ranks.jsonl).
// scatter_share: what the scatters of modes-124m-no-p2p take, beside gathers at the rate of sums.
constexpr double host_share = 27.3e9 / 63e9, host_scatter_share = 0.74;

// What a computation loses of its speed beside NCCL on 16 and on 32 of 132 multiprocessors, and how
// much longer the slower of two GPUs computes: of modes-1558m (tests/data/measured/ranks.jsonl).
constexpr double slows = 0.13, more_slows = 0.24, slowest = 0.01;

}  // namespace

std::string_view name_of(LinkKind kind) {
  for (const auto& [of, name] : kinds)
    if (of == kind) return name;
  return {};
}

std::optional<LinkKind> link_kind_named(std::string_view name) {
  for (const auto& [kind, of] : kinds)
    if (of == name) return kind;
  return std::nullopt;
}

Links LinkChoices::usual() const {
  if (nvlink_bytes_per_s > 0 && bridged == 0) return {LinkKind::nvlink, nvlink_bytes_per_s};
  return {reach_by_pcie ? LinkKind::pcie : LinkKind::host, pcie_bytes_per_s};
}

Links LinkChoices::of(LinkKind kind, std::int64_t gpus, std::string_view name) const {
  if (kind != LinkKind::nvlink) return {kind, pcie_bytes_per_s};
  if (nvlink_bytes_per_s <= 0)
    throw UserError(ExitCode::usage,
                    "--links nvlink: " + std::string(name) + " has no NVLink; write pcie or host");
  if (bridged > 0 && gpus > bridged)
    throw UserError(ExitCode::usage, "--links nvlink: a bridge joins " + std::to_string(bridged) +
                                         " " + std::string(name) + ", and there would be " +
                                         std::to_string(gpus) + "; write pcie or host");
  return {kind, nvlink_bytes_per_s};
}

LinkRates rates_of(const Links& links) {
  LinkRates rates;
  switch (links.kind) {
    case LinkKind::nvlink:
      rates.sum_bytes_per_s = sum_share * links.bytes_per_s;
      rates.copy_bytes_per_s = copy_share * links.bytes_per_s;
      rates.collectives = {1, gather_share, slows, more_speedup, more_slows, slowest};
      break;
    case LinkKind::pcie:  // as through the host's memory, but that the GPUs' engines reach others
      rates.sum_bytes_per_s = host_share * links.bytes_per_s;
      rates.copy_bytes_per_s = copy_share * links.bytes_per_s;
      rates.collectives = {host_scatter_share, 1, slows, 1, more_slows, slowest};
      break;
    case LinkKind::host:
      rates.sum_bytes_per_s = host_share * links.bytes_per_s;
      rates.collectives = {host_scatter_share, 1, slows, 1, slows, slowest};
      break;
  }
  return rates;
}

}  // namespace trainx::hardware
