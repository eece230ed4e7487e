// What this machine offers training: a section each, and what is wrong with it.
#pragma once
#include "doctor/binding.hpp"
#include "doctor/cpu.hpp"
#include "doctor/disk.hpp"
#include "doctor/gpus.hpp"
#include "doctor/installation.hpp"
#include "doctor/limits.hpp"
#include "facts/memory.hpp"
#include "facts/memory_bandwidth.hpp"
#include "doctor/versions.hpp"

namespace trainx::doctor {

using namespace facts;

struct MachineReport {
  InstallationFacts trainx;
  CpuFacts cpu;
  MemoryFacts memory;
  MemoryBandwidthFacts memory_bandwidth;
  LimitFacts limits;
  DiskFacts disk;
  GpusFacts gpus;
  BindingFacts binding;
  VersionFacts versions;
};

/// Looks and measures, which takes a few seconds. `worker` is its path; `folder` is where runs are
/// written.
MachineReport examine_machine(const std::string& worker, const BuildFacts& build,
                              const std::string& folder, const Roots& roots = {});
Findings findings_of(const MachineReport& report);
/// The sections, and "findings": [{"weight": "error" | "warning", "problem", "remedy"}].
Json to_json(const MachineReport& report);
std::string describe(const MachineReport& report);

}  // namespace trainx::doctor
