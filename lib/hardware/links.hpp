// How bytes go between GPUs of one host, and how fast.
#pragma once
#include "program/time.hpp"
#include <cstdint>
#include <optional>
#include <string_view>

namespace trainx::hardware {

/// nvlink: bridges or switches. pcie: GPUs reach each other's memory over PCI Express. host: they
/// do not, so that all goes through the host's memory.
enum class LinkKind { nvlink, pcie, host };
/// As `trainx plan --links` takes it.
std::string_view name_of(LinkKind kind);
std::optional<LinkKind> link_kind_named(std::string_view name);

struct Links {
  LinkKind kind = LinkKind::host;
  double bytes_per_s = 0;  // each way, for each GPU, as data sheets have it
  bool operator==(const Links&) const = default;
};

/// The ways between GPUs of one host that a data sheet has.
struct LinkChoices {
  double nvlink_bytes_per_s = 0;  // 0: the GPU has none
  int bridged = 0;                // so many GPUs a bridge joins, which is bought beside them
  double pcie_bytes_per_s = 0;
  bool reach_by_pcie = true;  // each other's memory

  /// NVLink that needs no bridge, else PCI Express.
  Links usual() const;
  /// Links of this kind between `gpus` GPUs. Throws UserError 2 if there are none.
  Links of(LinkKind kind, std::int64_t gpus, std::string_view name) const;
};

/// What programs take of links.
struct LinkRates {
  // each way, for each GPU: of NCCL's sums beside products, and of copies by the GPUs' engines, 0
  // where there are none
  double sum_bytes_per_s = 0, copy_bytes_per_s = 0;
  double latency_s = 0;  // of a collective
  program::CollectiveRates collectives;
};
/// Measured for NVLink 4 on H100s and H200s, and through the host's memory on H200s; other links
/// have the same shares of their data sheets.
LinkRates rates_of(const Links& links);

}  // namespace trainx::hardware
