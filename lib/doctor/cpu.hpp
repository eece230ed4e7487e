#pragma once
#include "facts/finding.hpp"
#include "facts/lines.hpp"
#include "facts/roots.hpp"
#include "facts/section_json.hpp"
#include <cstdint>

namespace trainx::doctor {

using namespace facts;

struct CpuFacts {
  std::optional<std::string> model;
  std::optional<std::int64_t> cores_installed;    // logical cores
  std::optional<std::int64_t> cores_by_affinity;  // of those, which this process may run on
  std::optional<double> cores_by_quota;           // of the cgroup; empty: no quota
  std::optional<std::int64_t> numa_nodes;
  // processes that run or wait for the disk, over the last minute
  std::optional<double> load;
  // of those that training on a CPU gains from: "AVX2", "AVX-512", ...
  std::vector<std::string> instruction_sets;
  bool x86 = false;
  Unread unread;
  /// Threads that compute at once.
  std::optional<std::int64_t> cores_usable() const;
};

CpuFacts detect_cpu(const Roots& roots);
Findings findings_of(const CpuFacts& facts);
Json to_json(const CpuFacts& facts);
Lines describe(const CpuFacts& facts);

/// Of a list of the kernel: "0-3,8" -> 5. Empty where it is no such list.
std::optional<std::int64_t> count_in_list(const std::string& list);

}  // namespace trainx::doctor
